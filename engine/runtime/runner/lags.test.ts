import { expect, test } from 'vitest'
import { Partition } from '../../../schemas/ids.ts'
import { Lags } from './lags.ts'

function setUp(count: number) {
  let [at, ends]: [number, readonly number[]] = [0, []]
  const partitions = Array.from({ length: count }, (_, p) => Partition(p))
  const lags = new Lags({ partitions, log: { ends: () => ends }, clock: { ticks: () => at } })
  return (now: number, newEnds: readonly number[], applied: readonly number[]) => {
    at = now
    ends = newEnds
    return { lagsMs: lags.measure(applied).map(({ lagMs }) => lagMs), entries: lags.entries(applied) }
  }
}

test('a partition lags for as long as its oldest entry waits, whatever is appended after it', () => {
  const measure = setUp(1)
  expect(measure(1_000, [5], [5])).toEqual({ lagsMs: [0], entries: 0 })
  expect(measure(2_000, [9], [5])).toEqual({ lagsMs: [0], entries: 4 })
  expect(measure(5_000, [20], [8])).toEqual({ lagsMs: [3_000], entries: 12 })
  // The entries seen first are applied. Later ones may have waited since this look.
  expect(measure(6_000, [20], [9])).toEqual({ lagsMs: [0], entries: 11 })
  expect(measure(7_500, [20], [9])).toEqual({ lagsMs: [1_500], entries: 11 })
  expect(measure(8_000, [20], [20])).toEqual({ lagsMs: [0], entries: 0 })
  expect(measure(9_000, [21], [20]).lagsMs).toEqual([0])
})

test('each partition has its own lag', () => {
  const measure = setUp(2)
  measure(0, [1, 1], [0, 1])
  expect(measure(500, [1, 1], [0, 1])).toEqual({ lagsMs: [500, 0], entries: 1 })
})
