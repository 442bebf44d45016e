import { describe, expect, test } from 'vitest'
import { nextPauseMs } from './pauses.ts'
import { judgeSilence } from './vigil.ts'

const most = (code: number, tries: number) => nextPauseMs(code, tries, 1)

describe('the pause before the next connection', () => {
  test('the pause grows to half a minute, with full jitter', () => {
    expect([0, 1, 2, 6, 50].map((tries) => most(1006, tries))).toEqual([500, 1000, 2000, 30_000, 30_000])
    expect(nextPauseMs(1006, 50, 0)).toBe(250)
  })

  test('the pause is short when the service says that it restarts, and long when there are too many sockets', () => {
    expect([nextPauseMs(1012, 0, 0), most(1012, 0)]).toEqual([0, 2000])
    expect(most(1012, 3)).toBe(4000)
    expect([nextPauseMs(4429, 0, 0), most(4429, 0)]).toEqual([10_000, 20_000])
  })
})

test('a connection that says nothing is told of after three seconds and given up after half a minute', () => {
  const open = (silentMs: number) => judgeSilence({ isOpen: true, silentMs })
  expect([0, 2999, 3001, 30_000, 30_001].map(open)).toEqual(['well', 'well', 'silent', 'silent', 'dead'])
  // One that does not open says nothing, and is not waited for as long as the browser would.
  expect([14_000, 15_001].map((silentMs) => judgeSilence({ isOpen: false, silentMs }))).toEqual([
    'well',
    'dead',
  ])
})
