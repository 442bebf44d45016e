// Queries of the counts of the fleet. A minute that two leaders counted has one row per group and status after the merge.
import { Millis } from '../../../../schemas/ids.ts'
import type { DeviceStatus } from '../../../../schemas/vocabulary.ts'
import type { FleetMoment } from '../../../domain/fleet/census.ts'
import { noCounts } from '../../../domain/fleet/selection.ts'
import { LIMITS } from '../../../limits.ts'
import type { TrendQuery } from '../../../ports/telemetry.ts'
import type { Statement } from './clickhouse-link.ts'

export async function readTrend(
  { from, to, widthMs, within }: TrendQuery,
  ask: (statement: Statement) => Promise<Buffer>,
): Promise<readonly FleetMoment[]> {
  const params: Record<string, string | number> = {
    from: Math.ceil(from / 1000),
    to: Math.ceil(to / 1000),
    width: widthMs / 1000,
  }
  const span = 'toUnixTimestamp(at) >= {from:UInt32} AND toUnixTimestamp(at) < {to:UInt32}'
  const scopes = within.map((subtrees, i) => scopeSql(subtrees, `g${i}`, params))
  const sql = `SELECT intDiv(toUnixTimestamp(at), {width:UInt32}) * {width:UInt32} AS bucket, status, sum(devices)
    FROM fleet_counts FINAL
    WHERE at IN (SELECT max(at) FROM fleet_counts WHERE ${span} GROUP BY intDiv(toUnixTimestamp(at), {width:UInt32}))
      AND ${['1', ...scopes].join(' AND ')}
    GROUP BY bucket, status ORDER BY bucket FORMAT JSONCompactEachRow`
  const settings = { output_format_json_quote_64bit_integers: 0 } as const
  const rows = await ask({ sql, params, settings, timeoutMs: LIMITS.telemetryQueryTimeoutMs })
  const moments = new Map<number, Record<DeviceStatus, number>>()
  for (const line of rows.toString().split('\n').slice(0, -1)) {
    // The statement above selects these columns.
    const [bucket, status, devices] = JSON.parse(line) as [number, DeviceStatus, number]
    const counts = moments.get(bucket) ?? noCounts()
    counts[status] = devices
    moments.set(bucket, counts)
  }
  return [...moments].map(([bucket, counts]) => ({ at: Millis(bucket * 1000), counts }))
}

/** Values from outside become parameters and never part of the statement. */
function scopeSql(
  subtrees: readonly string[],
  name: string,
  params: Record<string, string | number>,
): string {
  const parts = subtrees.map((subtree, i) => {
    params[`${name}_${i}`] = subtree
    const value = `{${name}_${i}:String}`
    return `group_path = ${value} OR startsWith(group_path, concat(${value}, '/'))`
  })
  return parts.length === 0 ? '0' : `(${parts.join(' OR ')})`
}
