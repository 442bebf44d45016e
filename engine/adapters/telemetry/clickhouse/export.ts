// Exports points or buckets by one statement whose result is the file's bytes. Points are read in stored order (FINAL,
// one thread), so a file begins at once and needs no memory.
import type { Aggregate, ExportFormat } from '../../../../schemas/vocabulary.ts'
import { LIMITS } from '../../../limits.ts'
import type { Export } from '../../../ports/telemetry.ts'
import type { Statement } from './clickhouse-link.ts'
import { plan } from './plan.ts'
import { type Params, selectBuckets, seriesCondition, timeCondition } from './series.ts'

const FORMATS: Readonly<Record<ExportFormat, string>> = {
  csv: 'CSV',
  ndjson: 'JSONEachRow',
  parquet: 'Parquet',
}

const SETTINGS = {
  max_threads: 1,
  do_not_merge_across_partitions_select_final: 0,
  max_execution_time: LIMITS.telemetryStreamSecMax,
  http_send_timeout: LIMITS.telemetryStallSecMax,
  output_format_parallel_formatting: 0,
  output_format_json_escape_forward_slashes: 0,
  format_csv_null_representation: '',
  // A row group is held in memory until it is written.
  output_format_parquet_row_group_size: 100_000,
  output_format_parquet_parallel_encoding: 0,
}

export interface ExportPlan {
  /** The first line of the file, even if no rows follow. */
  readonly head: string
  readonly statement: Statement
}

export function toExport(what: Export, horizon: number): ExportPlan {
  const params: Params = {}
  const { columns, rows } =
    what.kind === 'points' ? pointRows(what, params) : bucketRows(what, params, horizon)
  const list = columns.map(({ name, sql }) => (sql === name ? name : `${sql} AS ${name}`)).join(', ')
  return {
    head: what.format === 'csv' ? `${columns.map(({ name }) => `"${name}"`).join(',')}\n` : '',
    statement: {
      sql: `SELECT ${list} FROM (${rows}) FORMAT ${FORMATS[what.format]}`,
      params,
      settings: SETTINGS,
      timeoutMs: LIMITS.telemetryInsertTimeoutMs,
    },
  }
}

interface Rows {
  readonly columns: readonly { readonly name: string; readonly sql: string }[]
  readonly rows: string
}

function pointRows({ query, format }: Extract<Export, { kind: 'points' }>, params: Params): Rows {
  const where = `${seriesCondition(query, params)} AND ${timeCondition([query], params)}`
  const select = (table: 'points' | 'texts') => {
    const number = table === 'points' ? 'toNullable(value)' : "CAST(NULL, 'Nullable(Float64)')"
    const text = table === 'texts' ? 'toNullable(value)' : "CAST(NULL, 'Nullable(String)')"
    return `SELECT device_id, metric AS m, ts, ${number} AS number, ${text} AS t FROM ${table} FINAL WHERE ${where}`
  }
  return {
    columns: [
      { name: 'device_id', sql: text('device_id', 'parquet') },
      { name: 'metric', sql: text('m', format) },
      { name: 'time', sql: time('ts', format) },
      { name: 'value', sql: 'number' },
      { name: 'text', sql: text('t', format) },
    ],
    rows: `${select('points')} UNION ALL ${select('texts')}`,
  }
}

function bucketRows(
  { query, format }: Extract<Export, { kind: 'series' }>,
  params: Params,
  horizon: number,
): Rows {
  const found = selectBuckets(query, plan(query, horizon))
  Object.assign(params, found?.params)
  const isByDevice = query.by === 'device'
  const isOne = isByDevice && query.deviceIds.length === 1 && query.metrics.length === 1
  // The query of a single series returns no key columns.
  const keys = isOne ? '{device:String} AS device_id, {metric:String} AS metric, ' : ''
  const order = [...(isByDevice ? ['device_id'] : []), 'm', 'start'].join(', ')
  const at = "fromUnixTimestamp64Milli(start * 1000, 'UTC')"
  return {
    columns: [
      ...(isByDevice ? [{ name: 'device_id', sql: text('device_id', 'parquet') }] : []),
      { name: 'metric', sql: text('m', format) },
      { name: 'time', sql: time(at, format) },
      ...query.aggregates.map((name) => ({ name, sql: aggregate(name) })),
    ],
    rows: `SELECT *, metric AS m FROM (SELECT ${keys}* FROM (${found?.sql})) ORDER BY ${order}`,
  }
}

/** Computes the same as `average` in the domain. */
const AVERAGE = 'least(greatest(if(isFinite(sum), sum / count, min / 2 + max / 2), min), max)'

const aggregate = (name: Aggregate) => (name === 'avg' ? AVERAGE : name)

/** CSV: a text that a spreadsheet would take for a formula gets a leading quote. */
function text(column: string, format: ExportFormat): string {
  const plain = `CAST(${column}, '${column === 't' ? 'Nullable(String)' : 'String'}')`
  return format === 'csv'
    ? `if(match(${column}, '^[-=+@＝＋－＠\\\\t\\\\r\\\\n]'), concat('\\'', ${column}), ${plain})`
    : plain
}

/** Formats a time with microseconds. */
function time(column: string, format: ExportFormat): string {
  return format === 'parquet' ? column : `formatDateTime(${column}, '%Y-%m-%dT%H:%i:%S.%fZ')`
}
