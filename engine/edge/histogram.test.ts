import { expect, test } from 'vitest'
import { Histogram } from './histogram.ts'

test('small values are exact', () => {
  const histogram = new Histogram()
  for (let value = 1; value <= 100; value++) histogram.record(value)
  expect(histogram.percentile(0.5)).toBe(50)
  expect(histogram.percentile(0.99)).toBe(99)
  expect(histogram.percentile(1)).toBe(100)
})

test('large values are exact to 1.6 percent', () => {
  const histogram = new Histogram()
  const values = Array.from({ length: 20_000 }, (_, index) => Math.round(1.0007 ** index))
  for (const value of values) histogram.record(value)
  for (const share of [0.1, 0.5, 0.9, 0.99, 0.999]) {
    const exact = values[Math.ceil(share * values.length) - 1] ?? 0
    const error = histogram.percentile(share) / exact - 1
    expect(error).toBeGreaterThanOrEqual(0)
    expect(error).toBeLessThan(0.016)
  }
})

test('the largest value is kept exactly and bounds every percentile', () => {
  const histogram = new Histogram()
  histogram.record(1_000_003)
  expect(histogram.percentiles()).toEqual({
    count: 1,
    p50: 1_000_003,
    p99: 1_000_003,
    p999: 1_000_003,
    max: 1_000_003,
  })
})

test('an empty histogram returns zero, and negative and huge values are clamped', () => {
  const histogram = new Histogram()
  expect(histogram.percentile(0.99)).toBe(0)
  histogram.record(-5)
  expect(histogram.percentile(0.5)).toBe(0)
  histogram.record(1e12)
  expect(histogram.percentile(1)).toBe(2 ** 31 - 1)
})
