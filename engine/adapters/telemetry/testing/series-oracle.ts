// For tests of telemetry adapters: random points, queries for series of them, and the right results, computed point by
// point with the calendar of the time zone. Times are microseconds since `START`.
import fc from 'fast-check'
import { Millis } from '../../../../schemas/ids.ts'
import { AGGREGATES, type Aggregate, INTERVALS, type Interval } from '../../../../schemas/vocabulary.ts'
import type { Series } from '../../../ports/telemetry.ts'
import { DeviceIdOf } from './telemetry.ts'

export const SECOND = 1_000_000
export const HOUR = 3_600 * SECOND
export const DAY = 24 * HOUR
/** Clocks go back by an hour in these days: 25 October 2026 has 25 hours in Berlin. */
export const START = Date.UTC(2026, 9, 24) * 1000
const ZONES = [undefined, 'Europe/Berlin', 'Asia/Kolkata', 'Australia/Lord_Howe', 'America/Havana'] as const

export interface StoredPoint {
  readonly device: string
  readonly metric: string
  readonly at: number
  readonly v: number
}

export interface Ask {
  readonly devices: readonly string[]
  readonly by: 'device' | 'group'
  readonly metrics: readonly string[]
  readonly from: number
  readonly to: number
  readonly interval: Interval
  readonly zone?: string | undefined
  readonly aggregates: readonly Aggregate[]
}

const DEVICES = ['s0', 's1', 's2'] as const
const METRICS = ['v', 'w'] as const
export const POINTS = fc.array(
  fc.record({
    device: fc.constantFrom(...DEVICES),
    metric: fc.constantFrom(...METRICS),
    at: fc.oneof(
      fc.integer({ min: 0, max: 2 * DAY }),
      fc.nat(96).map((half) => (half * HOUR) / 2),
    ),
    // Quarters are added without rounding, in whatever order.
    v: fc.integer({ min: -400, max: 400 }).map((n) => n / 4),
  }),
  { minLength: 1, maxLength: 60 },
)
export const ASK: fc.Arbitrary<Ask> = fc.record({
  devices: fc.uniqueArray(fc.constantFrom(...DEVICES), { minLength: 1 }),
  by: fc.constantFrom('device', 'group'),
  metrics: fc.uniqueArray(fc.constantFrom(...METRICS), { minLength: 1 }),
  from: fc.integer({ min: -3_600, max: 172_800 }).map((second) => second * SECOND),
  to: fc.constant(2 * DAY + 1_000),
  interval: fc.constantFrom(...INTERVALS),
  zone: fc.constantFrom(...ZONES),
  aggregates: fc.oneof(
    fc.uniqueArray(fc.constantFrom<Aggregate>('avg', 'min', 'max', 'count', 'last', 'sum'), { minLength: 1 }),
    fc.uniqueArray(fc.constantFrom(...AGGREGATES), { minLength: 1 }),
  ),
})

/** Computed point by point with the calendar of the time zone. */
export function seriesOf(stored: readonly StoredPoint[], ask: Ask): readonly Series[] {
  const found = new Map<string, StoredPoint[]>()
  for (const point of stored) {
    const { device, metric, at } = point
    if (!ask.devices.includes(device) || !ask.metrics.includes(metric) || at < ask.from || at >= ask.to)
      continue
    const key = ask.by === 'device' ? `${device} ${metric}` : metric
    found.set(key, [...(found.get(key) ?? []), point])
  }
  const clock = new Intl.DateTimeFormat('en-CA', {
    timeZone: ask.zone ?? 'UTC',
    ...(ask.interval === '1d'
      ? { dateStyle: 'short' }
      : { dateStyle: 'short', timeStyle: 'short', hourCycle: 'h23' }),
  })
  const bucketOf = ({ at }: StoredPoint) => labelOf(clock, ask, START + at)
  return [...found.keys()].sort().map((key) => {
    const points = (found.get(key) ?? []).sort((a, b) => a.at - b.at || (a.device < b.device ? -1 : 1))
    const labels = [...new Set(points.map(bucketOf))]
    const buckets = labels.map((label) =>
      valuesOf(points.filter((point) => bucketOf(point) === label).map(({ v }) => v)),
    )
    const [first = '', second] = key.split(' ')
    const deviceId = second === undefined ? undefined : DeviceIdOf(first)
    return {
      deviceId,
      metric: second ?? first,
      buckets: buckets.map((bucket) => ({
        time: Millis(0),
        ...Object.fromEntries(ask.aggregates.map((aggregate) => [aggregate, bucket[aggregate]])),
      })),
    }
  })
}

/** Points of one bucket share a label: the date, or the hour with the zone's distance from UTC at that time. */
function labelOf(clock: Intl.DateTimeFormat, { interval, zone }: Ask, at: number): string {
  if (interval === '1d') return clock.format(at / 1000)
  const width = { '10s': 10, '1m': 60, '5m': 300, '1h': 3_600 }[interval] * SECOND
  if (zone === undefined || interval !== '1h') return String(Math.floor(at / width))
  const [shown = ''] = clock.format(at / 1000).split(':')
  const [, minutes = '0'] = /:(\d+)/.exec(clock.format(at / 1000)) ?? []
  // An hour that clocks show twice is two buckets, unless the interval is shorter than the change.
  return zone === 'Australia/Lord_Howe'
    ? shown
    : `${shown} ${Math.floor((at - Number(minutes) * 60 * SECOND) / HOUR)}`
}

function valuesOf(values: readonly number[]): Readonly<Record<Aggregate, number>> {
  const sorted = [...values].sort((a, b) => a - b)
  const sum = values.reduce((a, b) => a + b, 0)
  const mean = sum / values.length
  const quantile = (level: number) => {
    const place = level * (sorted.length - 1)
    const low = sorted[Math.floor(place)] ?? Number.NaN
    return low + (place % 1) * ((sorted[Math.ceil(place)] ?? Number.NaN) - low)
  }
  return {
    avg: mean,
    min: sorted[0] ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
    count: values.length,
    last: values.at(-1) ?? Number.NaN,
    sum,
    first: values[0] ?? Number.NaN,
    p50: quantile(0.5),
    p95: quantile(0.95),
    p99: quantile(0.99),
    stddev: Math.sqrt(values.reduce((all, v) => all + (v - mean) ** 2, 0) / values.length),
  }
}
