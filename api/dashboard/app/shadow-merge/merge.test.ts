import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../../schemas/json.ts'
import { applied, difference, type Edit, editsOf, patchOf, resolved, threeWay, withEdit } from './merge.ts'
import { shadowRows } from './rows.ts'

const set = (path: string, value: Extract<Edit, { kind: 'set' }>['value']): Edit => ({
  kind: 'set',
  path: path.split('/'),
  value,
})
const remove = (path: string): Edit => ({ kind: 'remove', path: path.split('/') })

describe('edits', () => {
  test('become one merge patch, and come back from it', () => {
    const edits = [set('net/wifi/name', 'hall'), set('net/port', 1883), remove('led'), set('list', [1, 2])]
    const patch = patchOf(edits)
    expect(patch).toEqual({ net: { wifi: { name: 'hall' }, port: 1883 }, led: null, list: [1, 2] })
    expect(editsOf(patch)).toEqual(edits)
  })

  test('a newer edit replaces those at its path and below', () => {
    const edits = withEdit([set('a/b', 1), set('c', 2)], set('a', { b: 3 }))
    expect(edits).toEqual([set('c', 2), set('a', { b: 3 })])
  })

  test('keys that mean something to a language are keys like others', () => {
    const patch = patchOf([set('__proto__/polluted', true), set('constructor', 1)])
    expect(Object.keys(patch)).toEqual(['__proto__', 'constructor'])
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(Object.keys(applied({}, patch))).toEqual(['__proto__', 'constructor'])
  })

  test('the difference of two documents turns one into the other', () => {
    const documents: readonly JsonObject[] = [
      {},
      { a: 1 },
      { a: { b: 1, c: [1, 2] }, d: 'x' },
      { a: { b: 2, c: [2] } },
      { a: 5, e: { f: {} } },
      { a: { b: { deep: true } }, d: 'y' },
    ]
    for (const from of documents)
      for (const to of documents) {
        const result = applied(from, patchOf(difference(from, to)))
        expect(shadowRows(result, to).filter(({ state }) => state !== 'in-sync')).toEqual([])
      }
  })
})

describe('a merge of three', () => {
  const base = { interval: 10, led: 'on', net: { port: 1, host: 'a' } }

  test('edits of other leaves are taken over', () => {
    const merge = threeWay(base, { ...base, led: 'off' }, [set('interval', 5)])
    expect(merge.untouched).toEqual([set('interval', 5)])
    expect(merge.conflicts).toEqual([])
    expect(merge.others).toEqual([set('led', 'off')])
  })

  test('an edit of the same leaf needs a choice', () => {
    const merge = threeWay(base, { ...base, interval: 7 }, [set('interval', 5), set('led', 'off')])
    expect(merge.conflicts).toEqual([{ edit: set('interval', 5), base: 10, theirs: 7, yours: 5 }])
    expect(resolved(merge, new Map())).toBeUndefined()
    expect(resolved(merge, new Map([['["interval"]', 'theirs']]))).toEqual([set('led', 'off')])
    expect(resolved(merge, new Map([['["interval"]', 'yours']]))).toEqual([
      set('led', 'off'),
      set('interval', 5),
    ])
  })

  test('a change above or below an edit overlaps with it', () => {
    expect(
      threeWay(base, { ...base, net: { port: 2, host: 'a' } }, [set('net', 'none')]).conflicts,
    ).toHaveLength(1)
    expect(threeWay(base, { interval: 10, led: 'on' }, [set('net/port', 3)]).conflicts).toHaveLength(1)
  })

  test('a leaf that they removed and you changed needs a choice', () => {
    const [conflict] = threeWay(base, { led: 'on', net: base.net }, [set('interval', 5)]).conflicts
    expect(conflict).toMatchObject({ base: 10, theirs: undefined, yours: 5 })
  })

  test('the same wish of both is fulfilled', () => {
    const merge = threeWay(base, { interval: 5, net: base.net }, [set('interval', 5), remove('led')])
    expect(merge.fulfilled).toEqual([set('interval', 5), remove('led')])
    expect([...merge.untouched, ...merge.conflicts]).toEqual([])
  })
})

test('a row of the table says how a leaf stands', () => {
  const rows = shadowRows({ a: 1, b: { c: 2 }, d: [1] }, { a: 1, b: { c: 3 }, e: 'x' })
  expect(rows.map(({ path, state }) => [path.join('.'), state])).toEqual([
    ['a', 'in-sync'],
    ['b.c', 'waiting'],
    ['d', 'only-desired'],
    ['e', 'only-reported'],
  ])
})
