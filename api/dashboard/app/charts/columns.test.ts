import { describe, expect, test } from 'vitest'
import { type Bucket, nearestIndex, toColumns } from './columns.ts'

const at = (seconds: number) => new Date(seconds * 1000).toISOString()
const bucket = (seconds: number, avg: number | null): Bucket => ({
  time: at(seconds),
  avg,
  min: avg === null ? null : avg - 1,
  max: avg === null ? null : avg + 1,
})

describe('columns of a chart', () => {
  test('have one value for each bucket, and its band', () => {
    const { times, lines } = toColumns(
      [{ name: 'a', buckets: [bucket(0, 5), bucket(10, 6)], shown: 'avg', hasBand: true }],
      10_000,
    )
    expect(times).toEqual([0, 10_000])
    expect(lines).toEqual([{ name: 'a', values: [5, 6], band: { low: [4, 5], high: [6, 7] } }])
  })

  test('a silence is a gap, and the rhythm of a slow series is none', () => {
    const silent = [0, 10, 20, 300, 310].map((second) => bucket(second, 1))
    expect(toColumns([{ name: 'a', buckets: silent, shown: 'avg' }], 10_000).lines[0]?.values).toEqual([
      1,
      1,
      1,
      null,
      1,
      1,
    ])
    const slow = [0, 60, 120, 180].map((second) => bucket(second, 1))
    expect(toColumns([{ name: 'a', buckets: slow, shown: 'avg' }], 10_000).lines[0]?.values).toEqual([
      1, 1, 1, 1,
    ])
  })

  test('series of different times share one axis without breaking each other', () => {
    const { times, lines } = toColumns(
      [
        { name: 'a', buckets: [bucket(0, 1), bucket(20, 2)], shown: 'avg' },
        { name: 'b', buckets: [bucket(10, 3)], shown: 'avg' },
      ],
      10_000,
    )
    expect(times).toEqual([0, 10_000, 20_000])
    expect(lines.map(({ values }) => values)).toEqual([
      [1, undefined, 2],
      [undefined, 3, undefined],
    ])
  })

  test('another period is laid over this one', () => {
    const { times } = toColumns(
      [{ name: 'a', buckets: [bucket(0, 1)], shown: 'avg', shiftMs: 60_000 }],
      10_000,
    )
    expect(times).toEqual([60_000])
  })

  test('an aggregate that a bucket has not is a gap', () => {
    const { lines } = toColumns([{ name: 'a', buckets: [bucket(0, null)], shown: 'p95' }], 10_000)
    expect(lines[0]?.values).toEqual([null])
  })
})

test('the nearest time is found, at both ends too', () => {
  const times = [0, 10, 20]
  expect([-5, 0, 4, 6, 14, 16, 99].map((at) => nearestIndex(times, at))).toEqual([0, 0, 0, 1, 1, 2, 2])
  expect(nearestIndex([], 5)).toBe(-1)
})
