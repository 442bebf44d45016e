import { expect, test } from 'vitest'
import { expectedOf, spread } from './count.ts'

test('a spread is evenly spaced, and includes everything if there are few items', () => {
  expect(spread([1, 2, 3], 5)).toEqual([1, 2, 3])
  expect(spread([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 5)).toEqual([0, 2, 4, 6, 8])
})

test('messages of several runs are added per device', () => {
  const percentiles = { count: 0, p50: 0, p99: 0, p999: 0, max: 0 }
  const run = (perDevice: readonly number[]) => ({
    messages: 0,
    firstSentAt: 0,
    lastAckedAt: 0,
    perDevice,
    latencyMicros: percentiles,
    probeMicros: undefined,
    probesLost: 0,
    cpuMicros: 0,
    deferred: 0,
  })
  expect(expectedOf(['a', 'b'], [run([1, 2]), run([10, 20])])).toEqual([
    { id: 'a', messages: 11 },
    { id: 'b', messages: 22 },
  ])
})
