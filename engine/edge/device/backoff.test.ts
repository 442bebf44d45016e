import { expect, test } from 'vitest'
import { Attempts } from './backoff.ts'

/** The waits after connections that were open for these milliseconds each; 0 is an attempt that failed. */
function waitsAfter(...open: readonly number[]): readonly number[] {
  const attempts = new Attempts()
  let now = 0
  return open.map((ms) => {
    if (ms > 0) attempts.opened(now)
    now += ms
    return attempts.closed({ now, wasRefused: false, random: 1 })
  })
}

test('the waits grow while connections break as soon as they are open, and begin anew after one that lasted', () => {
  expect(waitsAfter(100, 100, 100, 100)).toEqual([500, 1_000, 2_000, 4_000])
  expect(waitsAfter(60_000, 0, 0, 60_000, 0)).toEqual([500, 1_000, 2_000, 500, 1_000])
})
