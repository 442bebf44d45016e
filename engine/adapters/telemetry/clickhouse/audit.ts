// Queries of the audit. A row that was inserted twice is stored twice until parts are merged, and is returned once.
import { Micros } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { AuditFilter, AuditQuery, AuditRow } from '../../../ports/audit.ts'
import type { Statement } from './clickhouse-link.ts'

type Params = Record<string, string | number>
type Ask = (statement: Statement) => Promise<Buffer>

/** Extra rows read with a page, to make up for rows that are stored twice. */
const SPARE = 16

export async function readAudit(query: AuditQuery, ask: Ask): Promise<readonly AuditRow[]> {
  // Skipped rows must be counted once, so all rows are merged first, which is slower.
  if (query.offset !== undefined && query.offset > 0) return read(query, 'FINAL', ask)
  const rows: AuditRow[] = []
  for (let { before } = query; ; ) {
    const limit = query.limit - rows.length + SPARE
    const found = await read({ ...query, before, limit }, '', ask)
    rows.push(...found.filter((row, i) => !isSame(row, found[i - 1])))
    if (found.length < limit || rows.length >= query.limit) return rows.slice(0, query.limit)
    before = found.at(-1)
  }
}

export async function countAudit(filter: AuditFilter, ask: Ask): Promise<number> {
  const params: Params = {}
  const count = await ask({
    sql: `SELECT count() FROM audit FINAL WHERE ${conditions(filter, params).join(' AND ')} FORMAT TSV`,
    params,
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  })
  return Number(count.toString())
}

/** Reads in the table's own order, and stops as soon as there are enough rows. */
async function read(query: AuditQuery, merge: 'FINAL' | '', ask: Ask): Promise<readonly AuditRow[]> {
  const params: Params = { limit: query.limit, offset: query.offset ?? 0 }
  const rows = await ask({
    sql: `SELECT toUnixTimestamp64Micro(at) AS us, toString(version) AS number, body FROM audit ${merge}
      WHERE ${conditions(query, params).join(' AND ')}
      ORDER BY at DESC, version DESC LIMIT {limit:UInt32} OFFSET {offset:UInt64} FORMAT JSONCompactEachRow`,
    params,
    settings: { max_threads: 1, output_format_json_quote_64bit_integers: 0 },
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  })
  const lines = rows.toString().split('\n').slice(0, -1)
  return lines.map((line) => {
    // The statement above selects these columns, and bodies are written as JSON objects.
    const [us, number, body] = JSON.parse(line) as [number, string, string]
    return { at: Micros(us), version: Number(number), body: JSON.parse(body) as AuditRow['body'] }
  })
}

function isSame(row: AuditRow, other: AuditRow | undefined): boolean {
  return other?.at === row.at && other.version === row.version
}

/** Values from outside become parameters and never part of the statement. */
function conditions(
  { from, to, before, ...query }: AuditFilter & Pick<AuditQuery, 'before'>,
  params: Params,
): readonly string[] {
  const parts = ['1']
  const moment = (name: string, micros: number) => {
    params[name] = micros
    return `fromUnixTimestamp64Micro({${name}:Int64}, 'UTC')`
  }
  if (from !== undefined) parts.push(`at >= ${moment('from', from * 1000)}`)
  if (to !== undefined) parts.push(`at < ${moment('to', to * 1000)}`)
  if (before !== undefined) {
    const at = moment('at', before.at)
    params['version'] = before.version
    parts.push(`at <= ${at} AND (at < ${at} OR version < {version:UInt64})`)
  }
  if (query.actor !== undefined) {
    params['actor'] = query.actor
    parts.push('(actor_id = {actor:String} OR actor_name = {actor:String})')
  }
  const { action, target, deviceId, outcome, ip } = query
  for (const [column, wanted] of Object.entries({ action, target, device_id: deviceId, outcome, ip })) {
    if (wanted === undefined) continue
    params[column] = wanted
    parts.push(`${column} = {${column}:String}`)
  }
  return parts
}
