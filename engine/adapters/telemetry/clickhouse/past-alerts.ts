// Queries of resolved alerts. An alert's outcome is its last row in the history; earlier rows, such
// as its firing, are ignored. Times and places of a page are found first, and bodies are read for that page alone.
import { type AlertId, type DeviceId, toIso } from '../../../../schemas/ids.ts'
import type { JsonObject } from '../../../../schemas/json.ts'
import { ALERT_SEVERITIES } from '../../../../schemas/vocabulary.ts'
import { sortAlerts } from '../../../domain/alert/alert-results.ts'
import { LIMITS } from '../../../limits.ts'
import { FLEET } from '../../../ports/feed.ts'
import type { HistoryRow, PastAlerts, PastAlertsQuery } from '../../../ports/history.ts'
import type { Statement } from './clickhouse-link.ts'
import { type Ask, toRows } from './fleet-history.ts'
import { RowReader } from './row-reader.ts'

type Params = Record<string, string | number | readonly string[]>

const text = (field: string) => `JSONExtractString(body, '${field}')`
const ID = text('alert_id')
const RESOLVED = `kind = 'alert' AND ${text('state')} = 'resolved'`
const READ = {
  settings: { max_rows_to_read: LIMITS.fleetHistoryRowsReadMax },
  timeoutMs: LIMITS.telemetryQueryTimeoutMs,
} as const

export async function readPastAlerts(query: PastAlertsQuery, ask: Ask): Promise<PastAlerts> {
  const [page, counts] = await Promise.all([ask(pageStatement(query)), ask(countStatement(query))])
  const count = new RowReader(counts)
  const [total, known] = [count.int64(), count.int64()]
  return { total, known, alerts: sortAlerts(await readBodies(page, ask), query) }
}

/** The moves of one alert, newest first. */
export async function readAlertMoves(
  deviceId: DeviceId,
  alertId: AlertId,
  ask: Ask,
): Promise<readonly HistoryRow[]> {
  return toRows(
    await ask({
      sql: `SELECT device_id, kind, toUnixTimestamp64Micro(at), version, body FROM history FINAL
        WHERE device_id = {device:String} AND kind = 'alert' AND ${ID} = {alert:String}
        ORDER BY at DESC, version DESC LIMIT ${LIMITS.alertMovesShownMax} FORMAT RowBinary`,
      params: { device: deviceId, alert: alertId },
      ...READ,
    }),
  )
}

/** The devices and ids of a page, in its order. */
function pageStatement(query: PastAlertsQuery): Statement {
  const { sort = 'fired_at', descending = true, limit } = query
  const params: Params = { limit, severities: ALERT_SEVERITIES }
  const where = conditions(query, params)
  const direction = descending ? 'DESC' : 'ASC'
  const rank = `indexOf({severities:Array(String)}, ${text('severity')})`
  const keys = sort === 'severity' ? [`any(${rank})`, `any(${text('fired_at')})`] : [`any(${text(sort)})`]
  const order = [...keys, 'id'].map((key) => `${key} ${direction}`)
  return {
    sql: `SELECT device_id, ${ID} AS id FROM history WHERE ${where}
      GROUP BY device_id, id ORDER BY ${order.join(', ')} LIMIT {limit:UInt32} FORMAT RowBinary`,
    params,
    ...READ,
  }
}

function countStatement(query: PastAlertsQuery): Statement {
  const params: Params = { known: query.known }
  const where = conditions(query, params)
  return {
    sql: `SELECT uniqExact(id), uniqExactIf(id, has({known:Array(String)}, id))
      FROM (SELECT ${ID} AS id FROM history WHERE ${where}) FORMAT RowBinary`,
    params,
    ...READ,
  }
}

async function readBodies(page: Buffer, ask: Ask): Promise<readonly JsonObject[]> {
  const reader = new RowReader(page)
  const devices = new Set<string>()
  const ids: string[] = []
  while (reader.hasMore()) {
    devices.add(reader.text())
    ids.push(reader.text())
  }
  if (ids.length === 0) return []
  const found = new RowReader(
    await ask({
      sql: `SELECT body FROM history
        WHERE ${RESOLVED} AND device_id IN {devices:Array(String)} AND ${ID} IN {ids:Array(String)}
        ORDER BY at DESC, version DESC LIMIT 1 BY ${ID} FORMAT RowBinary`,
      params: { devices: [...devices], ids },
      ...READ,
    }),
  )
  const bodies: JsonObject[] = []
  // Bodies are written as JSON objects.
  while (found.hasMore()) bodies.push(JSON.parse(found.text()) as JsonObject)
  return bodies
}

/** Values from outside become parameters and never part of the statement. */
function conditions(query: PastAlertsQuery, params: Params): string {
  const parts = [RESOLVED]
  const param = (name: string, value: string) => {
    params[name] = value
    return `{${name}:String}`
  }
  const { deviceId, deviceIds, severities, group, within, from, to, snoozed } = query
  if (deviceId !== undefined) parts.push(`device_id = ${param('device', deviceId)}`)
  const texts = { rule_id: query.ruleId, type: query.type, group_key: query.groupKey }
  for (const [field, wanted] of Object.entries(texts))
    if (wanted !== undefined) parts.push(`${text(field)} = ${param(field, wanted)}`)
  const flags = { acknowledged: query.acknowledged, flapping: query.flapping }
  for (const [field, wanted] of Object.entries(flags))
    if (wanted !== undefined) parts.push(`JSONExtractBool(body, '${field}') = ${Number(wanted)}`)
  if (snoozed !== undefined) parts.push(`${text('snoozed_until')} ${snoozed ? '!=' : '='} ''`)
  if (severities !== undefined) {
    params['wanted'] = severities
    parts.push(`${text('severity')} IN {wanted:Array(String)}`)
  }
  const below = (name: string, subtree: string) =>
    `(${text('group')} = ${param(name, subtree)} OR startsWith(${text('group')}, ${param(`${name}_below`, `${subtree}/`)}))`
  if (group !== undefined) parts.push(below('group', group))
  if (within !== undefined) {
    const isWithin = `(${['0', ...within.map((each, i) => below(`within${i}`, each))].join(' OR ')})`
    if (deviceIds === undefined) parts.push(isWithin)
    else {
      params['devices'] = deviceIds
      const isOfFleet = `device_id = ${param('fleet', FLEET)}`
      parts.push(`(device_id IN {devices:Array(String)} OR (${isOfFleet} AND ${isWithin}))`)
    }
  }
  if (from !== undefined) {
    params['at'] = from * 1_000
    parts.push(`at >= fromUnixTimestamp64Micro({at:Int64}, 'UTC')`)
    parts.push(`${text('fired_at')} >= ${param('from', toIso(from))}`)
  }
  if (to !== undefined) parts.push(`${text('fired_at')} < ${param('to', toIso(to))}`)
  return parts.join(' AND ')
}
