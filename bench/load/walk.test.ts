import { expect, test } from 'vitest'
import { makeSeries, xorshift } from './walk.ts'

test('a walk moves by at most 0.1, with a sensor’s precision', () => {
  const next = makeSeries('walk', 3)
  let last = next()
  for (let k = 0; k < 1000; k++) {
    const value = next()
    expect(Math.abs(value - last)).toBeLessThan(0.1001)
    expect(value).toBe(Math.round(value * 10) / 10)
    last = value
  }
})

test('random numbers are in [0, 1), evenly distributed and distinct', () => {
  const random = xorshift(1)
  const values = Array.from({ length: 10_000 }, random)
  expect(values.every((value) => value >= 0 && value < 1)).toBe(true)
  expect(values.reduce((sum, value) => sum + value, 0) / values.length).toBeCloseTo(0.5, 1)
  expect(new Set(values).size).toBe(10_000)
})
