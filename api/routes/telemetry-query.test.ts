import { expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { Millis } from '../../schemas/ids.ts'
import { API_LIMITS } from '../limits.ts'
import { extentOf, parseBuckets } from './telemetry-query.ts'

const DAY_MS = 86_400_000
const START = Date.UTC(2026, 0, 5)

function asked(agg: string, days = 30, sources = 1) {
  const range = { kind: 'range', from: Millis(START), to: Millis(START + days * DAY_MS) } as const
  const made = parseBuckets({ agg: [agg] }, range, { interval: '1d', series: 1, sources })
  if (made.kind === 'refused') throw new Error(made.code)
  return made
}

test('aggregates that are in the rollups are charged by the size of the answer, however many points there are', () => {
  const { price, priceOf, read } = asked('avg,min,max')
  expect(price).toBe((4 * 30) / API_LIMITS.measuredValuesPerWork)
  expect(priceOf({ measured: 30, written: 30, points: 20_000_000 })).toBe(price)
  expect(read).toEqual(['avg', 'min', 'max'])
})

test('percentiles, the deviation and first values are charged by the points read, each adding a third', () => {
  const points = 30 * API_LIMITS.pointsPerWork
  const extra = (agg: string) =>
    asked(agg).priceOf({ measured: 0, written: 0, points }) -
    asked(agg).priceOf({ measured: 0, written: 0, points: 0 })
  for (const agg of ['first', 'stddev', 'p50', 'p95', 'p99', 'avg,p99']) expect(extra(agg)).toBeCloseTo(40)
  expect(extra('p50,p95,p99')).toBeCloseTo(60)
  expect(extra('first,stddev,p50,p95,p99')).toBeCloseTo(80)
})

test('until points are counted, one point per ten seconds is assumed, up to the number that may be read', () => {
  const one = asked('p99')
  const expected = (30 * DAY_MS) / API_LIMITS.assumedPointMs
  expect(one.price).toBeCloseTo(one.priceOf({ measured: 30, written: 30, points: expected }))
  const many = asked('p99', 365, 1_000)
  const most = LIMITS.telemetryRowsReadMax
  expect(many.price).toBeCloseTo(many.priceOf({ measured: 365, written: 365, points: most }))
})

test('points are counted only where they are charged for', () => {
  expect(asked('p99').read).toEqual(['p99', 'count'])
  expect(asked('count,p99').read).toEqual(['count', 'p99'])
  const found = [{ buckets: [{ count: 3 }, { count: 4 }] }, { buckets: [{}] }]
  expect(extentOf(found, { ...asked('p99'), series: 2 })).toEqual({ measured: 3, written: 3, points: 7 })
})
