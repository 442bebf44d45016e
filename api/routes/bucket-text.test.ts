import { expect, test } from 'vitest'
import { Millis } from '../../schemas/ids.ts'
import { bucketWriter, joined, listOf, type Pieces, withMember } from './bucket-text.ts'
import type { SeriesRange } from './telemetry-query.ts'

const START = 1_770_000_000
const NUMBERS = {
  avg: 2,
  min: 1,
  max: 3,
  count: 2,
  last: 3,
  sum: 4,
  first: 1,
  stddev: 1,
  p50: 2,
  p95: 3,
  p99: 3,
}
const bucketAt = (minute: number) => ({ time: Millis((START + minute * 60) * 1_000), ...NUMBERS })

function asked(minutes: number, fill: SeriesRange['fill']): SeriesRange {
  const starts = fill === undefined ? [] : Array.from({ length: minutes }, (_, i) => START + i * 60)
  const from = Millis(START * 1_000)
  return {
    ...{ kind: 'asked', from, to: Millis(from + minutes * 60_000), interval: '1m', fill, starts },
    ...{
      grid: [{ from: START, step: 60 }],
      aggregates: ['avg', 'count'],
      read: ['avg', 'count'],
      price: 0,
      filePrice: 0,
      priceOf: () => 0,
    },
  }
}

const read = (pieces: Pieces) => JSON.parse(Buffer.concat(pieces).toString())

test('series of one answer are each written whole, whatever they have in common', async () => {
  const write = bucketWriter(asked(3, 'null'))
  const series = [[], [bucketAt(1)], [], [bucketAt(0), bucketAt(2)]]
  const written: Pieces[] = []
  for (const buckets of series) written.push(withMember({ metric: 'm' }, 'data', await write(buckets)))
  const times = ['02:40:00', '02:41:00', '02:42:00'].map((time) => `2026-02-02T${time}.000Z`)
  expect(read(listOf(written))).toEqual(
    [[], [1], [], [0, 2]].map((present) => ({
      metric: 'm',
      data: times.map((time, i) =>
        present.includes(i) ? { time, avg: 2, count: 2 } : { time, avg: null, count: 0 },
      ),
    })),
  )
})

test('more buckets than are written at a time are one array, filled or not', async () => {
  const minutes = 10_001
  const all = Array.from({ length: minutes }, (_, i) => bucketAt(i))
  for (const fill of [undefined, 'previous'] as const) {
    const found = read(await bucketWriter(asked(minutes, fill))(all))
    expect(found).toHaveLength(minutes)
    expect(found.at(-1)).toEqual({ time: '2026-02-09T01:20:00.000Z', avg: 2, count: 2 })
  }
})

test('a series is as long as its own buckets after a longer one, and numbers that JSON lacks are null', async () => {
  const write = bucketWriter(asked(3, undefined))
  expect(read(await write([0, 1, 2].map(bucketAt)))).toHaveLength(3)
  const { time } = bucketAt(0)
  const odd = { time, avg: Number.NEGATIVE_INFINITY, min: 1 }
  expect(read(await write([odd]))).toEqual([{ time: '2026-02-02T02:40:00.000Z', avg: null, count: null }])
  const filled = read(await bucketWriter(asked(2, 'null'))([odd]))
  expect(filled.map(({ avg, count }: { avg: unknown; count: unknown }) => [avg, count])).toEqual([
    [null, null],
    [null, 0],
  ])
})

test('an answer without buckets or series is an empty array', async () => {
  expect(read(await bucketWriter(asked(1, undefined))([]))).toEqual([])
  expect(read(listOf([]))).toEqual([])
  expect(read(withMember({}, 'ü', listOf([])))).toEqual({ ü: [] })
})

test('other requests are served while a large answer is written and joined', async () => {
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  const all = Array.from({ length: 10_000 }, (_, i) => bucketAt(i))
  const [one = new Uint8Array(), ...others] = await bucketWriter(asked(10_000, undefined))(all)
  expect(turns).toBeGreaterThan(20)
  turns = 0
  const large = Array.from({ length: 8 }, () => Buffer.alloc(600_000, ' '))
  const text = await joined([one, ...large, ...others])
  clearImmediate(next)
  expect(turns).toBeGreaterThanOrEqual(3)
  // Compared directly, because a matcher would compare millions of bytes one by one.
  expect(Buffer.concat([one, ...large, ...others]).equals(text)).toBe(true)
})
