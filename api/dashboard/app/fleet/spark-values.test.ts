import { expect, test } from 'vitest'
import { SPARK_BUCKETS, sparkValues } from './spark-values.ts'

test('each value is at its time, a gap stays a gap, and what is older is left out', () => {
  const now = Date.parse('2026-03-01T12:03:00Z')
  const at = (minutesAgo: number, avg: number) => ({
    time: new Date(Date.parse('2026-03-01T12:00:00Z') - minutesAgo * 60_000).toISOString(),
    avg,
  })
  const values = sparkValues([at(60, 9), at(55, 1), at(5, 2), at(0, 3)], now)
  expect(values).toHaveLength(SPARK_BUCKETS)
  expect(values).toEqual([1, ...Array(9).fill(null), 2, 3])
})
