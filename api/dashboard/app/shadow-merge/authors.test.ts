import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../../schemas/json.ts'
import { authorOf, type Change } from './authors.ts'

const change = (version: number, patch: JsonObject): Change => ({
  version,
  actor: { type: 'user', id: `usr_${version}` },
  patch,
})
const CHANGES = [
  change(4, { led: { colour: 'red' } }),
  change(6, { interval: 7 }),
  change(5, { interval: 6, led: { bright: true } }),
]

describe('whose change a leaf has', () => {
  test('the newest change of the leaf counts, in whichever order they come', () => {
    expect(authorOf(['interval'], CHANGES)?.version).toBe(6)
    expect(authorOf(['led', 'colour'], CHANGES)?.version).toBe(4)
  })

  test('a change above or below the leaf is one of it', () => {
    expect(authorOf(['led'], CHANGES)?.version).toBe(5)
    expect(authorOf(['led', 'colour'], [...CHANGES, change(7, { led: null })])?.version).toBe(7)
  })

  test('a leaf that nobody changed has none', () => {
    expect(authorOf(['mode'], CHANGES)).toBeUndefined()
    expect(authorOf(['interval'], [])).toBeUndefined()
  })
})
