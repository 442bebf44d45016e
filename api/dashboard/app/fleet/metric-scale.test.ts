import { expect, test } from 'vitest'
import { SCALE_STEPS, scaleOf, stepOf } from './metric-scale.ts'

test('a few values far out do not flatten the rest, and get the colours of the ends', () => {
  const values = Float64Array.from([...Array.from({ length: 98 }, (_, i) => i), 1e9, -1e9, Number.NaN])
  const scale = scaleOf(values)
  if (scale === undefined) throw new Error('there are numbers')
  expect(scale.high).toBeLessThan(100)
  expect(scale.low).toBeGreaterThanOrEqual(0)
  expect([stepOf(scale, -1e9), stepOf(scale, 50), stepOf(scale, 1e9)]).toEqual([0, 2, SCALE_STEPS - 1])
  expect(stepOf(scale, Number.NaN)).toBeUndefined()
})

test('values that are all the same are in the middle, and none have no scale', () => {
  const scale = scaleOf(Float64Array.from([7, 7]))
  expect(scale && stepOf(scale, 7)).toBe(2)
  expect(scaleOf(Float64Array.from([Number.NaN]))).toBeUndefined()
})
