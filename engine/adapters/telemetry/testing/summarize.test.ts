import { describe, expect, test } from 'vitest'
import { AGGREGATES } from '../../../../schemas/vocabulary.ts'
import { summarize } from './summarize.ts'

describe('a summary', () => {
  test('the summary of one point is that point, without deviation', () => {
    const { count, stddev, ...rest } = summarize([7], AGGREGATES)
    expect([count, stddev]).toEqual([1, 0])
    expect(new Set(Object.values(rest))).toEqual(new Set([7]))
  })

  test('has quantiles between the points, and the deviation of the points themselves', () => {
    expect(summarize([4, 1, 3, 2], ['p50', 'first', 'last', 'sum'])).toEqual({
      p50: 2.5,
      first: 4,
      last: 2,
      sum: 10,
    })
    const hundred = Array.from({ length: 101 }, (_, i) => i)
    expect(summarize(hundred, ['p95', 'p99'])).toEqual({ p95: 95, p99: 99 })
    expect(summarize([2, 4, 4, 4, 5, 5, 7, 9], ['stddev'])).toEqual({ stddev: 2 })
  })

  test('has what was asked for in the order asked', () => {
    expect(Object.keys(summarize([1], ['max', 'count', 'avg']))).toEqual(['max', 'count', 'avg'])
  })
})
