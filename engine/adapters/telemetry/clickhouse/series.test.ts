import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { AGGREGATES_DEFAULT, INTERVALS } from '../../../../schemas/vocabulary.ts'
import { gridOf } from '../../../domain/telemetry/grid.ts'
import { LIMITS } from '../../../limits.ts'
import { DeviceIdOf } from '../testing/telemetry.ts'
import { plan } from './plan.ts'
import { readSeries, toStatement } from './series.ts'

const HOUR = 3_600_000
const START = Date.UTC(2025, 0, 1)
const NONE = { from: 0, to: 0 }
const QUERY = {
  deviceIds: [DeviceIdOf('d')],
  by: 'device',
  metrics: ['m'],
  grid: gridOf({ interval: '1m', ...NONE }),
  aggregates: AGGREGATES_DEFAULT,
  lateHours: [],
} as const

test('settled hours are read from rollups, and unaligned ends and later times from raw points', () => {
  const query = { ...QUERY, from: Millis(START + 500), to: Millis(START + 5 * HOUR) }
  const horizon = START + 4 * HOUR
  expect(plan(query, horizon)).toEqual({
    rollup: { table: 'rollup_1m', ranges: [{ from: START + 60_000, to: horizon }] },
    raw: [
      { from: START + 500, to: START + 60_000 },
      { from: horizon, to: START + 5 * HOUR },
    ],
  })
  expect(plan({ ...query, grid: gridOf({ interval: '10s', ...NONE }) }, horizon).rollup).toBeUndefined()
  expect(plan({ ...query, grid: gridOf({ interval: '1d', ...NONE }) }, horizon).rollup).toEqual({
    table: 'rollup_1h',
    ranges: [{ from: START + HOUR, to: horizon }],
  })
})

test('a query with few settled hours is read from raw points alone', () => {
  const query = { ...QUERY, from: Millis(START + 500), to: Millis(START + 2 * HOUR) }
  expect(plan(query, START + 2 * HOUR)).toEqual({
    rollup: undefined,
    raw: [{ from: query.from, to: query.to }],
  })
})

test('late hours are read from raw points', () => {
  const query = {
    ...QUERY,
    from: Millis(START),
    to: Millis(START + 3 * HOUR),
    lateHours: [START / 1000 + 3_600],
  }
  expect(plan(query, START + 3 * HOUR)).toEqual({
    rollup: {
      table: 'rollup_1m',
      ranges: [
        { from: START, to: START + HOUR },
        { from: START + 2 * HOUR, to: START + 3 * HOUR },
      ],
    },
    raw: [{ from: START + HOUR, to: START + 2 * HOUR }],
  })
})

test('aggregates that rollups lack are read from raw points, and half-hour zones use minutes', () => {
  const span = { from: Millis(START), to: Millis(START + 9 * HOUR) }
  const query = { ...QUERY, ...span, grid: gridOf({ interval: '1h', zone: 'Asia/Kolkata', ...span }) }
  expect(plan(query, span.to).rollup?.table).toBe('rollup_1m')
  const berlin = { ...query, grid: gridOf({ interval: '1d', zone: 'Europe/Berlin', ...span }) }
  expect(plan(berlin, span.to).rollup?.table).toBe('rollup_1h')
  expect(plan({ ...berlin, aggregates: ['sum', 'p99'] }, span.to)).toEqual({ rollup: undefined, raw: [span] })
})

test('a query with too many separate late hours is read from raw points alone', () => {
  const hours = LIMITS.telemetryRawRangesMax * 2 + 2
  const lateHours = Array.from({ length: hours / 2 }, (_, i) => START / 1000 + i * 7_200)
  const query = { ...QUERY, from: Millis(START), to: Millis(START + hours * HOUR), lateHours }
  expect(plan(query, START + hours * HOUR)).toEqual({
    rollup: undefined,
    raw: [{ from: START, to: START + hours * HOUR }],
  })
})

test('the ranges of a plan cover the query once', () => {
  const time = fc.integer({ min: 0, max: 30 * HOUR })
  fc.assert(
    fc.property(
      time,
      time,
      time,
      fc.array(fc.nat(29)),
      fc.constantFrom(...INTERVALS),
      (a, b, h, late, interval) => {
        const from = START + Math.min(a, b)
        const to = START + Math.max(a, b)
        const horizon = START + Math.floor(h / HOUR) * HOUR
        const lateHours = late.map((n) => START / 1000 + n * 3_600)
        const { rollup, raw } = plan(
          { ...QUERY, from: Millis(from), to: Millis(to), grid: gridOf({ interval, ...NONE }), lateHours },
          horizon,
        )
        const ranges = [...(rollup?.ranges ?? []), ...raw].sort((x, y) => x.from - y.from)
        let at = from
        for (const range of ranges) {
          expect(range.from).toBe(at)
          expect(range.to).toBeGreaterThan(range.from)
          at = range.to
        }
        expect(at).toBe(to)
        const unit = rollup?.table === 'rollup_1h' ? HOUR : 60_000
        for (const range of rollup?.ranges ?? []) {
          expect([range.from % unit, range.to % unit]).toEqual([0, 0])
          expect(range.to).toBeLessThanOrEqual(horizon)
          for (const hour of lateHours) {
            expect(hour * 1000 >= range.to || hour * 1000 + HOUR <= range.from).toBe(true)
          }
        }
      },
    ),
  )
})

test('no value from outside is part of the statement', () => {
  const query = {
    ...QUERY,
    deviceIds: [DeviceIdOf("d'x")],
    metrics: ["m'x"],
    from: Millis(START),
    to: Millis(START + HOUR),
  }
  const statement = toStatement(query, plan(query, START + HOUR / 2))
  expect(statement?.sql).not.toContain("'x")
  expect(statement?.params).toMatchObject({ device: "d'x", metric: "m'x" })
})

const row = (metric: string, start: bigint, count: bigint, numbers: readonly number[]) => {
  const whole = Buffer.alloc(16 + numbers.length * 8)
  whole.writeBigInt64LE(start, 0)
  whole.writeBigInt64LE(count, 8)
  for (const [i, number] of numbers.entries()) whole.writeDoubleLE(number, 16 + i * 8)
  return Buffer.concat([Buffer.from(`\x01d\x01${metric}`), whole])
}

test('rows become the buckets of their series, and whole numbers may have more than 32 bits', async () => {
  const rows = Buffer.concat([
    row('m', 60n, 2n, [3, 1, 2, 1, 1.5, 7]),
    row('m', 4_200_000_000n, 9_000_000_000n, [9e9, 1, 1, 1, 1, 8]),
    row('n', 60n, 1n, [5, 5, 5, 5, 5, 9]),
  ])
  const query = { ...QUERY, metrics: ['m', 'n'], aggregates: ['avg', 'count', 'p50', 'first'] } as const
  const span = { from: Millis(0), to: Millis(HOUR) }
  const shown = (await readSeries(rows, { ...query, ...span })).map(({ deviceId, metric, buckets }) => [
    deviceId,
    metric,
    buckets.map(({ time, avg, count, p50, first, sum }) => [time, avg, count, p50, first, sum]),
  ])
  expect(shown).toEqual([
    [
      'd',
      'm',
      [
        [60_000, 1.5, 2, 1.5, 7, undefined],
        [4_200_000_000_000, 1, 9_000_000_000, 1, 8, undefined],
      ],
    ],
    ['d', 'n', [[60_000, 5, 1, 5, 9, undefined]]],
  ])
})

test('others have their turn while a large answer is read', async () => {
  const one = row('m', 60n, 2n, [3, 1, 2, 1])
  const rows = Buffer.concat(Array.from({ length: 20_001 }, () => one))
  let turns = 0
  let isRead = false
  const turn = () => {
    turns++
    if (!isRead) setImmediate(turn)
  }
  setImmediate(turn)
  const query = {
    ...QUERY,
    metrics: ['m', 'n'],
    from: Millis(0),
    to: Millis(HOUR),
    aggregates: ['avg'],
  } as const
  const [series] = await readSeries(rows, query)
  isRead = true
  expect([series?.buckets.length, turns > 2]).toEqual([20_001, true])
})
