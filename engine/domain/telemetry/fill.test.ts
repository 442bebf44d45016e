import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { FILLS } from '../../../schemas/vocabulary.ts'
import { fillBuckets } from './fill.ts'
import { selectMetrics } from './selection.ts'

const aggregates = ['avg', 'count'] as const
const bucket = (second: number, avg: number) => ({ time: Millis(second * 1000), avg, count: 3 })

describe('fill', () => {
  const buckets = [bucket(10, 4), bucket(40, 10)]
  const starts = [0, 10, 20, 30, 40, 50]
  const filled = (fill: 'null' | 'previous' | 'linear') =>
    fillBuckets(buckets, { starts, fill, aggregates }).map(({ values: { avg, count } }) => [avg, count])

  test('fill=null gives null for buckets without points', () => {
    expect(filled('null')).toEqual([
      [null, 0],
      [4, 3],
      [null, 0],
      [null, 0],
      [10, 3],
      [null, 0],
    ])
  })

  test('fill=previous repeats the last value, beginning with the first bucket that has points', () => {
    expect(filled('previous')).toEqual([
      [null, 0],
      [4, 3],
      [4, 0],
      [4, 0],
      [10, 3],
      [10, 0],
    ])
  })

  test('fill=linear interpolates between both neighbours', () => {
    expect(filled('linear')).toEqual([
      [null, 0],
      [4, 3],
      [6, 0],
      [8, 0],
      [10, 3],
      [null, 0],
    ])
  })

  test('filling gives every start once, keeps buckets with points, and stays between their values', () => {
    const at = fc.uniqueArray(fc.nat(40), { minLength: 1 }).map((list) => list.sort((a, b) => a - b))
    fc.assert(
      fc.property(at, fc.double({ noNaN: true }), fc.constantFrom(...FILLS), (seconds, value, fill) => {
        const slotValues = seconds.map((second, i) =>
          bucket(second, Number.isFinite(value) ? value / (i + 1) : i),
        )
        const all = fillBuckets(slotValues, {
          starts: Array.from({ length: 41 }, (_, i) => i),
          fill,
          aggregates,
        })
        expect(all.map(({ time }) => time)).toEqual(Array.from({ length: 41 }, (_, i) => i * 1000))
        expect(all.filter(({ values }) => values.count !== 0).map(({ values }) => values)).toEqual(slotValues)
        const known = slotValues.map(({ avg }) => avg)
        for (const {
          values: { avg },
        } of all) {
          if (typeof avg !== 'number') continue
          expect(avg).toBeGreaterThanOrEqual(Math.min(...known))
          expect(avg).toBeLessThanOrEqual(Math.max(...known))
        }
      }),
    )
  })
})

describe('a selection of metrics', () => {
  const known = ['battery.percent', 'battery.volt', 'battery', 'a,b', 'x.*', 'x.y']

  test('names are selected as they are written, whether the device has them or not', () => {
    expect(selectMetrics(['speed', 'battery'], known)).toEqual(['speed', 'battery'])
    expect(selectMetrics(['speed,battery,speed', 'x'], known)).toEqual(['speed', 'battery', 'x'])
  })

  test('a prefix selects the metrics below it but not the prefix itself', () => {
    expect(selectMetrics(['battery.*'], known)).toEqual(['battery.percent', 'battery.volt'])
    expect(selectMetrics(['nothing.*'], known)).toEqual([])
    expect(selectMetrics(['*'], known)).toEqual([...known].sort())
  })

  test('a metric of exactly that name is selected before lists and prefixes', () => {
    expect(selectMetrics(['a,b'], known)).toEqual(['a,b'])
    expect(selectMetrics(['x.*'], known)).toEqual(['x.*'])
  })
})
