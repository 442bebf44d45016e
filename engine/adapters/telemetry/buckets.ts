// One query for the buckets of a series: from rollups where they are settled, from raw elsewhere.
//
//        from                                             to
//         |--raw--|======= rollup =======|----- raw -----|
//              aligned        late hours: raw         horizon

import { Millis } from '../../../schemas/ids.ts'
import { INTERVAL_SECONDS } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import type { Bucket, BucketQuery } from '../../ports/telemetry.ts'
import { average } from './average.ts'
import type { Statement } from './clickhouse-http.ts'

const HOUR_MS = 3_600_000
/** Reading a second table costs as much as some thousand rows more of the first. */
const ROLLUP_MIN_MS = 2 * HOUR_MS

/** [from, to), in milliseconds. */
interface Range {
  readonly from: number
  readonly to: number
}

export interface Plan {
  readonly rollup:
    | { readonly table: 'rollup_1m' | 'rollup_1h'; readonly ranges: readonly Range[] }
    | undefined
  readonly raw: readonly Range[]
}

/** Which part of the query is answered from where. Together the ranges are [from, to), without overlap. */
export function plan({ from, to, interval, lateHours }: BucketQuery, horizon: number): Plan {
  const seconds = INTERVAL_SECONDS[interval]
  const whole = from < to ? [{ from, to }] : []
  if (seconds < 60) return { rollup: undefined, raw: whole }
  const unit = seconds < 3600 ? 60_000 : HOUR_MS
  const settled = { from: Math.ceil(from / unit) * unit, to: Math.floor(Math.min(to, horizon) / unit) * unit }
  if (settled.to - settled.from < ROLLUP_MIN_MS) return { rollup: undefined, raw: whole }
  const late = [...new Set(lateHours)]
    .map((hour) => hour * 1000)
    .filter((start) => start + HOUR_MS > settled.from && start < settled.to)
    .sort((a, b) => a - b)
  const fresh: Range[] = []
  const raw: Range[] = from < settled.from ? [{ from, to: settled.from }] : []
  let at = settled.from
  for (const start of late) {
    if (start > at) fresh.push({ from: at, to: start })
    const end = Math.min(start + HOUR_MS, settled.to)
    raw.push({ from: Math.max(start, at), to: end })
    at = end
  }
  if (at < settled.to) fresh.push({ from: at, to: settled.to })
  if (settled.to < to) raw.push({ from: settled.to, to })
  const joined = join(raw)
  if (joined.length > LIMITS.telemetryRawRangesMax) return { rollup: undefined, raw: whole }
  return { rollup: { table: unit === HOUR_MS ? 'rollup_1h' : 'rollup_1m', ranges: fresh }, raw: joined }
}

function join(ranges: readonly Range[]): readonly Range[] {
  const joined: Range[] = []
  for (const range of ranges) {
    const last = joined.at(-1)
    if (last?.to === range.from) joined[joined.length - 1] = { from: last.from, to: range.to }
    else joined.push(range)
  }
  return joined
}

const WHOSE = 'device_id = {device:String} AND metric = {metric:String}'
/** A time is at most so much ahead of its receive time, so older parts need no look; plus the second cut off. */
const AHEAD_SEC = LIMITS.timestampAheadMaxMs / 1000 + 1

const COLUMNS = 'start, sum(count), sum(sum), min(min), max(max), argMax(last, last_ts)'
/** A query reads a few thousand rows: threads, compiled expressions and a filter's own pass cost more than they save. */
const SETTINGS = {
  max_threads: 1,
  compile_expressions: 0,
  compile_aggregate_expressions: 0,
  compile_sort_description: 0,
  optimize_move_to_prewhere: 0,
}

/** Statement text is ours alone; whatever comes from outside is a parameter. */
export function toStatement(query: BucketQuery, { rollup, raw }: Plan): Statement | undefined {
  const params: Record<string, string | number> = { device: query.deviceId, metric: query.metric }
  const step = INTERVAL_SECONDS[query.interval]
  const parts: string[] = []
  if (raw.length > 0) parts.push(rawSql(raw, step, params))
  if (rollup !== undefined && rollup.ranges.length > 0) parts.push(rollupSql(rollup, step, params))
  if (parts.length === 0) return undefined
  // Raw alone is one row per bucket already.
  const from = parts.join(' UNION ALL ')
  const rows =
    rollup === undefined
      ? `SELECT start, count, sum, min, max, last FROM (${from})`
      : `SELECT ${COLUMNS} FROM (${from}) GROUP BY start`
  return {
    sql: `${rows} ORDER BY start FORMAT RowBinary`,
    params,
    settings: SETTINGS,
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  }
}

function startOf(seconds: string, step: number): string {
  return `intDiv(${seconds}, ${step}) * ${step} AS start`
}

function rawSql(raw: readonly Range[], step: number, params: Record<string, string | number>): string {
  const within = raw.map(({ from, to }, i) => {
    params[`f${i}`] = from * 1000
    params[`t${i}`] = to * 1000
    return `ts >= fromUnixTimestamp64Micro({f${i}:Int64}, 'UTC') AND ts < fromUnixTimestamp64Micro({t${i}:Int64}, 'UTC')`
  })
  params['received'] = Math.max(0, Math.floor((raw[0]?.from ?? 0) / 1000) - AHEAD_SEC)
  return `SELECT ${startOf('toUnixTimestamp64Second(ts)', step)}, count() AS count, sum(v) AS sum, min(v) AS min,
      max(v) AS max, argMax(v, ts) AS last, max(ts) AS last_ts
    FROM (SELECT ts, argMax(value, version) AS v FROM points WHERE ${WHOSE}
      AND received >= toDateTime({received:UInt32}, 'UTC') AND (${within.join(' OR ')}) GROUP BY ts)
    GROUP BY start`
}

function rollupSql(
  { table, ranges }: NonNullable<Plan['rollup']>,
  step: number,
  params: Record<string, string | number>,
): string {
  const within = ranges.map(({ from, to }, i) => {
    params[`rf${i}`] = from / 1000
    params[`rt${i}`] = to / 1000
    return `bucket >= toDateTime({rf${i}:UInt32}, 'UTC') AND bucket < toDateTime({rt${i}:UInt32}, 'UTC')`
  })
  return `SELECT ${startOf('toInt64(toUnixTimestamp(bucket))', step)}, b.1 AS count, b.2 AS sum, b.3 AS min,
      b.4 AS max, b.5 AS last, b.6 AS last_ts
    FROM (SELECT bucket, argMax((count, sum, min, max, last, last_ts), computed) AS b
      FROM ${table} WHERE ${WHOSE} AND (${within.join(' OR ')}) GROUP BY bucket)`
}

const ROW_BYTES = 48

/** From rows of RowBinary: start Int64, count UInt64, sum, min, max, last. */
export function readBuckets(rows: Buffer): readonly Bucket[] {
  return Array.from({ length: rows.length / ROW_BYTES }, (_, row) => {
    const at = row * ROW_BYTES
    const count = Number(rows.readBigUInt64LE(at + 8))
    const sum = rows.readDoubleLE(at + 16)
    const min = rows.readDoubleLE(at + 24)
    const max = rows.readDoubleLE(at + 32)
    return {
      time: Millis(Number(rows.readBigInt64LE(at)) * 1000),
      avg: average({ sum, count, min, max }),
      min,
      max,
      count,
      last: rows.readDoubleLE(at + 40),
    }
  })
}
