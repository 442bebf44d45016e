// One query for the buckets of all requested series, following its plan.
//
// - Values from outside become parameters and never part of the statement.
// S2. Rollups and raw points give the same columns for each bucket: count, sum, min, max, last and the time of last.
// S3. The query of a single series is frequent and has the fastest form. All others read merged rows in order (FINAL),
//     which needs no memory for the rows.
import { setImmediate } from 'node:timers/promises'
import type { DeviceId } from '../../../../schemas/ids.ts'
import { Millis } from '../../../../schemas/ids.ts'
import type { Aggregate } from '../../../../schemas/vocabulary.ts'
import type { Grid } from '../../../domain/telemetry/grid.ts'
import { average, type Bucket } from '../../../domain/telemetry/summary.ts'
import { LIMITS } from '../../../limits.ts'
import type { DeviceChoice, Series, SeriesQuery } from '../../../ports/telemetry.ts'
import type { Statement } from './clickhouse-link.ts'
import type { Plan, Range } from './plan.ts'
import { RowReader } from './row-reader.ts'

/** Rows of an answer that are read at a time, which takes a few milliseconds. */
const ROWS_AT_ONCE = 5_000

export type Params = Record<string, string | number | readonly (string | number)[]>

/** No point is further ahead of its receive time than this, so older parts need not be read. One second covers rounding. */
const AHEAD_SEC = LIMITS.timestampAheadMsMax / 1000 + 1

/** A query reads a few thousand rows. Threads, compiled expressions and PREWHERE would cost more than they save. */
const SETTINGS = {
  max_threads: 1,
  compile_expressions: 0,
  compile_aggregate_expressions: 0,
  compile_sort_description: 0,
  optimize_move_to_prewhere: 0,
  // A point that was received in one month and again in the next counts once.
  do_not_merge_across_partitions_select_final: 0,
  max_rows_to_read: LIMITS.telemetryRowsReadMax,
}

const ROLLED = 'sum(count) AS count, sum(sum) AS sum, min(min) AS min, max(max) AS max'
/** Aggregates that need raw points to be exact, and come after the columns of S2. */
const DETAILS: Readonly<Partial<Record<Aggregate, (lastBy: string) => string>>> = {
  first: (lastBy) => `argMin(v, ${lastBy})`,
  p50: () => 'quantileExactInclusive(0.5)(v)',
  p95: () => 'quantileExactInclusive(0.95)(v)',
  p99: () => 'quantileExactInclusive(0.99)(v)',
  stddev: () => 'stddevPopStable(v)',
}

/** Undefined if the plan has nothing to read. */
export function toStatement(query: SeriesQuery, { rollup, raw }: Plan): Statement | undefined {
  const inner = selectBuckets(query, { rollup, raw })
  if (inner === undefined) return undefined
  const keys = keysOf(query)
  const columns = [...keys, 'start', 'count', 'sum', 'min', 'max', 'last', ...detailsOf(query)]
  return {
    sql: `SELECT ${columns.join(', ')} FROM (${inner.sql}) ORDER BY ${[...keys, 'start'].join(', ')} FORMAT RowBinary`,
    params: inner.params,
    settings: SETTINGS,
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  }
}

/** Selects a row per bucket: its keys, `start` in seconds, and the columns of S2. */
export function selectBuckets(
  query: SeriesQuery,
  { rollup, raw }: Plan,
): { readonly sql: string; readonly params: Params } | undefined {
  const params: Params = {}
  const parts: string[] = []
  if (raw.length > 0) parts.push(rawSql(query, raw, params))
  if (rollup !== undefined && rollup.ranges.length > 0) parts.push(rollupSql(query, rollup, params))
  const [only] = parts
  if (only === undefined) return undefined
  // Raw points alone already give one row per bucket.
  if (rollup === undefined) return { sql: only, params }
  const keys = [...keysOf(query), 'start']
  return {
    sql: `SELECT ${keys.join(', ')}, ${ROLLED}, argMax(last, last_ts) AS last
      FROM (${parts.join(' UNION ALL ')}) GROUP BY ${keys.join(', ')}`,
    params,
  }
}

function detailsOf({ aggregates }: Pick<SeriesQuery, 'aggregates'>): readonly Aggregate[] {
  return aggregates.filter((aggregate) => DETAILS[aggregate] !== undefined)
}

function rawSql(query: SeriesQuery, raw: readonly Range[], params: Params): string {
  const keys = keysOf(query)
  const lastBy = lastOf(query, 'ts')
  const details = detailsOf(query)
  const columns = details.map((aggregate) => `, ${DETAILS[aggregate]?.(lastBy)} AS ${aggregate}`)
  const groups = [...keys, 'start'].join(', ')
  return `SELECT ${groupsOf(query, 'toUnixTimestamp64Second(ts)', params)}, count() AS count, sum(v) AS sum,
      min(v) AS min, max(v) AS max, argMax(v, ${lastBy}) AS last, max(${lastBy}) AS last_ts${columns.join('')}
    FROM (${rawPoints(query, raw, params)}) GROUP BY ${groups}`
}

/** Selects each point once, in the form of S3. */
function rawPoints(query: SeriesQuery, raw: readonly Range[], params: Params): string {
  const where = `${seriesCondition(query, params)} AND ${timeCondition(raw, params)}`
  return isPlain(query) && detailsOf(query).length === 0
    ? `SELECT ts, argMax(value, version) AS v FROM points WHERE ${where} GROUP BY ts`
    : `SELECT device_id, metric, ts, value AS v FROM points FINAL WHERE ${where}`
}

function rollupSql(
  query: SeriesQuery,
  { table, ranges }: NonNullable<Plan['rollup']>,
  params: Params,
): string {
  const parts = ranges.map(({ from, to }, i) => {
    params[`rf${i}`] = from / 1000
    params[`rt${i}`] = to / 1000
    return `bucket >= toDateTime({rf${i}:UInt32}, 'UTC') AND bucket < toDateTime({rt${i}:UInt32}, 'UTC')`
  })
  const series = isPlain(query) ? [] : ['device_id', 'metric']
  const columns = [...series, 'bucket'].join(', ')
  return `SELECT ${groupsOf(query, 'toInt64(toUnixTimestamp(bucket))', params)}, b.1 AS count, b.2 AS sum, b.3 AS min,
      b.4 AS max, b.5 AS last, ${lastOf(query, 'b.6')} AS last_ts
    FROM (SELECT ${columns}, argMax((count, sum, min, max, last, last_ts), computed) AS b
      FROM ${table} WHERE ${seriesCondition(query, params)} AND (${parts.join(' OR ')}) GROUP BY ${columns})`
}

/** A condition for points whose time is in one of these ranges, which are in order. */
export function timeCondition(ranges: readonly Range[], params: Params): string {
  const parts = ranges.map(({ from, to }, i) => {
    params[`f${i}`] = from * 1000
    params[`t${i}`] = to * 1000
    return `ts >= fromUnixTimestamp64Micro({f${i}:Int64}, 'UTC') AND ts < fromUnixTimestamp64Micro({t${i}:Int64}, 'UTC')`
  })
  params['received'] = Math.max(0, Math.floor((ranges[0]?.from ?? 0) / 1000) - AHEAD_SEC)
  return `received >= toDateTime({received:UInt32}, 'UTC') AND (${parts.join(' OR ')})`
}

export function seriesCondition(
  { deviceIds, among, metrics }: Pick<SeriesQuery, 'deviceIds' | 'among' | 'metrics'>,
  params: Params,
): string {
  params['metric'] = metrics.length === 1 ? (metrics[0] ?? '') : metrics
  const metric = metrics.length === 1 ? '= {metric:String}' : 'IN {metric:Array(String)}'
  const chosen =
    among === undefined ? deviceCondition(deviceIds, params) : `IN (${chosenDevices(among, params)})`
  return `device_id ${chosen} AND metric ${metric}`
}

function deviceCondition(deviceIds: readonly DeviceId[], params: Params): string {
  params['device'] = deviceIds.length === 1 ? (deviceIds[0] ?? '') : deviceIds
  return deviceIds.length === 1 ? '= {device:String}' : 'IN {device:Array(String)}'
}

function chosenDevices({ group, within }: DeviceChoice, params: Params): string {
  const subtrees = [...(group === undefined ? [] : [[group]]), ...(within === undefined ? [] : [within])]
  const inSubtrees = subtrees.map((paths, i) => {
    params[`groups${i}`] = paths
    const path = `{groups${i}:Array(String)}`
    return `arrayExists(g -> group_path = g OR startsWith(group_path, concat(g, '/')), ${path})`
  })
  return `SELECT device_id FROM devices FINAL WHERE ${['gone = 0', ...inSubtrees].join(' AND ')}`
}

const isPlain = ({ deviceIds, among, metrics, by }: SeriesQuery) =>
  among === undefined && deviceIds.length === 1 && metrics.length === 1 && by === 'device'

/** The columns that identify a series, none for a single series. */
function keysOf(query: SeriesQuery): readonly string[] {
  if (isPlain(query)) return []
  return query.by === 'device' ? ['device_id', 'metric'] : ['metric']
}

/** The order that decides which value is the last one. At equal times, the device with the greater id wins. */
const lastOf = ({ by }: SeriesQuery, ts: string) => (by === 'device' ? ts : `(${ts}, device_id)`)

function groupsOf(query: SeriesQuery, seconds: string, params: Params): string {
  return [...keysOf(query), startOf(query.grid, seconds, params)].join(', ')
}

function startOf(grid: Grid, seconds: string, params: Params): string {
  const [{ from, step }] = grid
  if (grid.length === 1 && from === 0) return `intDiv(${seconds}, ${step}) * ${step} AS start`
  params['starts'] = grid.map((stretch) => stretch.from)
  params['steps'] = grid.map((stretch) => stretch.step)
  const stretch = `roundDown(${seconds}, {starts:Array(Int64)})`
  const width = `transform(${stretch}, {starts:Array(Int64)}, {steps:Array(Int64)})`
  return `${stretch} + intDiv(${seconds} - ${stretch}, ${width}) * ${width} AS start`
}

/** Reads rows of RowBinary with the columns keys, start Int64, count UInt64, sum, min, max, last, details. The rows of a
 *  series are adjacent. Yields to other work after every few thousand rows. */
export async function readSeries(rows: Buffer, query: SeriesQuery): Promise<readonly Series[]> {
  const keys = keysOf(query)
  const [hasDevice, hasMetric] = [keys.includes('device_id'), keys.includes('metric')]
  const shape = { details: detailsOf(query), asked: askedOf(query) }
  const reader = new RowReader(rows)
  const all: (Series & { readonly buckets: Bucket[] })[] = []
  for (let row = 0; reader.hasMore(); row++) {
    if (row > 0 && row % ROWS_AT_ONCE === 0) await setImmediate()
    // The statement selects requested ids only.
    const id = (hasDevice ? reader.text() : query.deviceIds[0]) as DeviceId
    const deviceId = query.by === 'device' ? id : undefined
    const metric = hasMetric ? reader.text() : (query.metrics[0] ?? '')
    let series = all.at(-1)
    if (series === undefined || series.metric !== metric || series.deviceId !== deviceId) {
      series = { deviceId, metric, buckets: [] }
      all.push(series)
    }
    series.buckets.push(readBucket(reader, shape))
  }
  return all
}

interface BucketShape {
  readonly details: readonly Aggregate[]
  readonly asked: { readonly [A in Aggregate]: boolean }
}

function askedOf({ aggregates }: SeriesQuery): BucketShape['asked'] {
  const has = (aggregate: Aggregate) => aggregates.includes(aggregate)
  return {
    avg: has('avg'),
    min: has('min'),
    max: has('max'),
    count: has('count'),
    last: has('last'),
    sum: has('sum'),
    first: has('first'),
    stddev: has('stddev'),
    p50: has('p50'),
    p95: has('p95'),
    p99: has('p99'),
  }
}

/** Creates an object of one shape for all queries: an answer may have a hundred thousand of them, and adding members
 *  one by one costs several times as much. */
function readBucket(reader: RowReader, { details, asked }: BucketShape): Bucket {
  const time = Millis(reader.int64() * 1000)
  const count = reader.int64()
  const sum = reader.float64()
  const min = reader.float64()
  const max = reader.float64()
  const last = reader.float64()
  let first: number | undefined
  let stddev: number | undefined
  let p50: number | undefined
  let p95: number | undefined
  let p99: number | undefined
  for (const detail of details) {
    const value = reader.float64()
    if (detail === 'first') first = value
    else if (detail === 'stddev') stddev = value
    else if (detail === 'p50') p50 = value
    else if (detail === 'p95') p95 = value
    else p99 = value
  }
  return {
    time,
    avg: asked.avg ? average({ sum, count, min, max }) : undefined,
    min: asked.min ? min : undefined,
    max: asked.max ? max : undefined,
    count: asked.count ? count : undefined,
    last: asked.last ? last : undefined,
    sum: asked.sum ? sum : undefined,
    first,
    stddev,
    p50,
    p95,
    p99,
  }
}
