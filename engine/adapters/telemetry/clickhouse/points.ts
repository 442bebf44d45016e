// Reads points as they were reported, a page at a time.
import { Micros } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { Point, PointPlace, PointsQuery } from '../../../ports/telemetry.ts'
import type { Statement } from './clickhouse-link.ts'
import { RowReader } from './row-reader.ts'
import { type Params, seriesCondition, timeCondition } from './series.ts'

/** A page needs only the first rows in order, so most rows of a larger block would be read in vain. */
const SETTINGS = {
  max_threads: 1,
  max_block_size: 8_192,
  compile_expressions: 0,
  do_not_merge_across_partitions_select_final: 0,
}

export function pageStatement(query: PointsQuery): Statement {
  const { deviceId, metric, from, to, after, limit } = query
  const params: Params = { limit }
  const where = `${seriesCondition({ deviceIds: [deviceId], metrics: [metric] }, params)} AND ${timeCondition([{ from, to }], params)}`
  const select = (table: 'points' | 'texts') => {
    const value = table === 'points' ? "value AS number, '' AS text" : '0. AS number, value AS text'
    return `SELECT * FROM (SELECT ${table === 'texts' ? 1 : 0} AS is_text, ts, ${value} FROM ${table} FINAL
      WHERE ${where}${later(table, after, params)} ORDER BY ts LIMIT {limit:UInt32})`
  }
  return {
    sql: `SELECT toUInt8(is_text), toUnixTimestamp64Micro(ts), number, text
      FROM (SELECT * FROM (${select('points')}) UNION ALL ${select('texts')})
      ORDER BY ts, is_text LIMIT {limit:UInt32} FORMAT RowBinary`,
    params,
    settings: SETTINGS,
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  }
}

/** The condition for rows after the page. A page may end between the number and the text of the same time. */
function later(table: 'points' | 'texts', after: PointPlace | undefined, params: Params): string {
  if (after === undefined) return ''
  params['after'] = after.at
  const compare = table === 'texts' && !after.isText ? '>=' : '>'
  return ` AND ts ${compare} fromUnixTimestamp64Micro({after:Int64}, 'UTC')`
}

export function readPoints(rows: Buffer): readonly Point[] {
  const reader = new RowReader(rows)
  const points: Point[] = []
  while (reader.hasMore()) {
    const isText = reader.byte() === 1
    const at = Micros(reader.int64())
    const number = reader.float64()
    const text = reader.text()
    points.push({ at, value: isText ? text : number })
  }
  return points
}
