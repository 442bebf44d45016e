// Shared by all queries of history: range, buckets, aggregates and limits.

import { type Grid, gridOf, startsIn } from '../../engine/domain/telemetry/grid.ts'
import { isZone } from '../../engine/domain/telemetry/zone.ts'
import { LIMITS } from '../../engine/limits.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { Millis, toIso } from '../../schemas/ids.ts'
import {
  AGGREGATES,
  AGGREGATES_DEFAULT,
  type Aggregate,
  EXPORT_TYPES,
  type ExportFormat,
  type Fill,
  INTERVAL_SECONDS,
  INTERVALS,
  type Interval,
} from '../../schemas/vocabulary.ts'
import type { FileAnswer } from '../http/answer.ts'
import { parseSpan } from '../http/span.ts'
import { wantedFormat } from '../http/wanted-format.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, type Refusal } from '../refusal.ts'

const HOUR_MS = 3_600_000

export interface PastQuery {
  readonly from?: string
  readonly to?: string
  readonly interval?: Interval | 'raw'
  readonly agg?: readonly string[]
  readonly fill?: Fill
  readonly tz?: string
  readonly format?: ExportFormat | 'json'
}

export interface Range {
  readonly kind: 'range'
  readonly from: Millis
  readonly to: Millis
}

/** How much data an answer is based on, and how much of it is written. */
export interface Extent {
  /** Buckets that have points. */
  readonly measured: number
  /** All buckets of the answer. */
  readonly written: number
  /** The points in these buckets, if they were counted. */
  readonly points: number
}

export interface SeriesRange extends Omit<Range, 'kind'> {
  readonly kind: 'asked'
  readonly interval: Interval
  readonly grid: Grid
  readonly aggregates: readonly Aggregate[]
  /** The aggregates to request from the engine. They include the count of points if points are charged for. */
  readonly read: readonly Aggregate[]
  readonly fill: Fill | undefined
  /** Starts of the buckets to fill in, in seconds. */
  readonly starts: readonly number[]
  /** The price of the answer if every bucket has points, and the price of a file, which ClickHouse writes by itself. */
  readonly price: number
  readonly filePrice: number
  priceOf(extent: Extent): number
}

export function parseRange(query: PastQuery, now: Millis): Range | Refusal {
  const span = parseSpan(query, now)
  if (span.kind === 'refused') return span
  const { from, to } = span
  const range: Range = {
    kind: 'range',
    from: from ?? Millis(Math.max(API_LIMITS.spanMin, Math.min(now, to ?? now) - HOUR_MS)),
    // Points have microseconds, so "now" includes the current millisecond as a whole.
    to: to ?? Millis(now + 1),
  }
  if (range.from >= range.to) return outOfRange('/from', 'must be before `to`')
  return range
}

/**
 * `series` is the number of series in the answer, `sources` the number of series it is computed from, and `inFile` the
 * number of series in a file, where each is only bounded on its own.
 */
export function parseBuckets(
  query: PastQuery,
  { from, to }: Range,
  {
    interval,
    series,
    sources = series,
    inFile = series,
  }: {
    readonly interval: Interval
    readonly series: number
    readonly sources?: number
    readonly inFile?: number
  },
): SeriesRange | Refusal {
  const aggregates = parseAggregates(query.agg)
  if (aggregates.kind === 'refused') return aggregates
  const { tz: zone, fill } = query
  if (zone !== undefined && !isZone(zone))
    return invalid('/tz', {
      code: 'NOT_ALLOWED',
      message: 'must be the IANA name of a time zone, such as Europe/Berlin',
      in: 'query',
    })
  const count = bucketsOf({ from, to }, interval)
  const tooMany = tooManyBuckets({ from, to }, { count, series, fill })
  if (tooMany !== undefined) return tooMany
  const grid = gridOf({ interval, zone, from, to })
  // A day may be an hour shorter than the limit on buckets assumes.
  const starts = fill === undefined ? [] : startsIn(grid, { from, to }, API_LIMITS.bucketsMax + 2)
  const zoneWork = zone === undefined ? 0 : (to - from) / API_LIMITS.zoneMsPerWork
  const { measuredValuesPerWork, valuesPerWork, assumedPointMs } = API_LIMITS
  const priceOf: SeriesRange['priceOf'] = ({ measured, written, points }) =>
    zoneWork +
    pointsWork(points, aggregates.names) +
    (1 + aggregates.names.length) * (measured / measuredValuesPerWork + (written - measured) / valuesPerWork)
  const most = count * series
  const points = Math.min(LIMITS.telemetryRowsReadMax, (sources * (to - from)) / assumedPointMs)
  return {
    kind: 'asked',
    from,
    to,
    interval,
    grid,
    aggregates: aggregates.names,
    read:
      detailsOf(aggregates.names) > 0
        ? [...new Set([...aggregates.names, 'count'] as const)]
        : aggregates.names,
    fill,
    starts,
    price: priceOf({ measured: most, written: most, points }),
    filePrice: priceOf({ measured: 0, written: count * inFile, points }),
    priceOf,
  }
}

/** Aggregates for which every point is read. Rollups hold only what adds up exactly. */
const DETAILS: ReadonlySet<Aggregate> = new Set(['first', 'stddev', 'p50', 'p95', 'p99'])

const detailsOf = (aggregates: readonly Aggregate[]) => aggregates.filter((name) => DETAILS.has(name)).length

function pointsWork(points: number, aggregates: readonly Aggregate[]): number {
  const details = detailsOf(aggregates)
  return details === 0 ? 0 : (points / API_LIMITS.pointsPerWork) * (1 + details / 3)
}

function parseAggregates(
  texts: readonly string[] | undefined,
): { readonly kind: 'aggregates'; readonly names: readonly Aggregate[] } | Refusal {
  if (texts === undefined) return { kind: 'aggregates', names: AGGREGATES_DEFAULT }
  const names = [...new Set(texts.flatMap((text) => text.split(',')))]
  const known = names.flatMap((name) => AGGREGATES.filter((aggregate) => aggregate === name))
  if (known.length === names.length) return { kind: 'aggregates', names: known }
  const message = `must be of ${AGGREGATES.join(', ')}; several with commas between them`
  return invalid('/agg', { code: 'NOT_ALLOWED', message, in: 'query' })
}

function bucketsOf({ from, to }: Omit<Range, 'kind'>, interval: Interval): number {
  const width = INTERVAL_SECONDS[interval] * 1000
  return Math.ceil(to / width) - Math.floor(from / width)
}

/** [contract 2.2] Names the shortest interval that fits. */
function tooManyBuckets(
  range: Omit<Range, 'kind'>,
  {
    count,
    series,
    fill,
  }: { readonly count: number; readonly series: number; readonly fill: Fill | undefined },
): Refusal | undefined {
  const { bucketsMax, bucketsPerAnswerMax, filledBucketsPerAnswerMax } = API_LIMITS
  const inAll = fill === undefined ? bucketsPerAnswerMax : filledBucketsPerAnswerMax
  const most = Math.min(bucketsMax, Math.floor(inAll / Math.max(1, series)))
  if (count <= most) return undefined
  const fits = INTERVALS.find((candidate) => bucketsOf(range, candidate) <= most)
  const advice = fits === undefined ? 'ask for less time' : `use interval=${fits} or ask for less time`
  const each = most === bucketsMax ? '' : ` for each of ${series} series`
  return outOfRange('/interval', `would give ${count} buckets; at most ${most} are allowed${each}: ${advice}`)
}

export function extentOf(
  found: readonly { readonly buckets: readonly { readonly count?: number | undefined }[] }[],
  { fill, starts, series }: Pick<SeriesRange, 'fill' | 'starts'> & { readonly series: number },
): Extent {
  let [measured, points] = [0, 0]
  for (const { buckets } of found) {
    measured += buckets.length
    for (const { count = 0 } of buckets) points += count
  }
  return { measured, written: fill === undefined ? measured : starts.length * series, points }
}

/** Parameters that only work together with others, as `[name, is it given, what it works with]`. */
export function misplaced(
  uses: readonly (readonly [name: string, isGiven: boolean, goesWith: string])[],
): Refusal | undefined {
  const [found] = uses.filter(([, isGiven]) => isGiven)
  if (found === undefined) return undefined
  const [name, , goesWith] = found
  return invalid(`/${name}`, { code: 'NOT_ALLOWED', message: `goes with ${goesWith} only`, in: 'query' })
}

/** Returns the requested file format: `format`, or else the first matching type in `Accept`. */
export function fileFormat({ format }: PastQuery, accept: string | undefined): ExportFormat | undefined {
  if (format !== undefined) return format === 'json' ? undefined : format
  return wantedFormat(accept, EXPORT_TYPES)
}

export function fileAnswer(
  bytes: FileAnswer['bytes'],
  { name, format, from, to }: Omit<Range, 'kind'> & { readonly name: string; readonly format: ExportFormat },
): FileAnswer {
  const day = (at: Millis) => toIso(at).replace(/[-:]|\.\d+/g, '')
  const type = `${EXPORT_TYPES[format]}${format === 'parquet' ? '' : '; charset=utf-8'}`
  return { kind: 'file', type, name: `${name}-${day(from)}-${day(to)}.${format}`, bytes }
}

/** Refuses a query that would read too many points, because the caller can ask for less. */
export async function orTooMuch<T>(
  work: Promise<T>,
): Promise<{ readonly kind: 'found'; readonly found: T } | Refusal> {
  try {
    return { kind: 'found', found: await work }
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'TELEMETRY_TOO_MUCH') throw error
    const most = LIMITS.telemetryRowsReadMax
    return outOfRange(
      '/from',
      `more than ${most} points would have to be read: ask for less time, or fewer devices`,
    )
  }
}

export const outOfRange = (path: string, message: string) =>
  invalid(path, { code: 'OUT_OF_RANGE', message, in: 'query' })
