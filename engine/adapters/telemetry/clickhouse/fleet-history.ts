// Queries of the history of many devices, newest first. A row that was inserted twice is stored twice until parts are
// merged, and is returned once.
import { type DeviceId, Micros } from '../../../../schemas/ids.ts'
import type { HistoryKind } from '../../../domain/history/row.ts'
import { LIMITS } from '../../../limits.ts'
import type { FleetHistoryQuery, FleetPlace, HistoryRow } from '../../../ports/history.ts'
import type { Statement } from './clickhouse-link.ts'
import { RowReader } from './row-reader.ts'
import { AHEAD_SEC, type Window, windows } from './time-windows.ts'

export type Ask = (statement: Statement) => Promise<Buffer>
type Params = Record<string, string | number | readonly string[]>

/** Extra rows read with a page, to make up for rows that are stored twice. */
const SPARE = 16

export async function readFleetHistory(
  query: FleetHistoryQuery,
  now: number,
  ask: Ask,
): Promise<readonly HistoryRow[]> {
  if (query.kinds.length === 0 || query.limit <= 0 || query.deviceIds?.length === 0) return []
  const rows: HistoryRow[] = []
  let { before } = query
  const end = before === undefined ? undefined : Math.floor(before.at / 1000) + 1
  const to = end === undefined || (query.to ?? end) < end ? query.to : end
  for (const window of windows({ from: query.from, to }, now))
    for (;;) {
      const limit = query.limit - rows.length + SPARE
      const found = toRows(await ask(page({ ...query, before, limit }, window)))
      rows.push(...found.filter((row, i) => !isSame(row, found[i - 1])))
      if (rows.length >= query.limit) return rows.slice(0, query.limit)
      if (found.length < limit) break
      before = found.at(-1)
    }
  return rows
}

function page(query: FleetHistoryQuery, window: Window): Statement {
  const params: Params = { kinds: query.kinds, limit: query.limit }
  const parts = [
    'kind IN {kinds:Array(String)}',
    ...timeConditions(window, params),
    ...filters(query, params),
  ]
  return {
    sql: `SELECT device_id, kind, toUnixTimestamp64Micro(at), version, body FROM history
      WHERE ${parts.join(' AND ')}
      ORDER BY at DESC, version DESC, kind DESC, device_id DESC LIMIT {limit:UInt32} FORMAT RowBinary`,
    params,
    settings: { max_rows_to_read: LIMITS.fleetHistoryRowsReadMax },
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  }
}

const moment = (name: string) => `fromUnixTimestamp64Micro({${name}:Int64}, 'UTC')`

/** Conditions on the time of a row. */
export function timeConditions({ from, to }: Window, params: Params): readonly string[] {
  const parts: string[] = []
  if (from !== undefined) {
    params['from'] = from * 1000
    params['received'] = Math.max(0, Math.floor(from / 1000) - AHEAD_SEC)
    parts.push(`at >= ${moment('from')}`, 'received >= toDateTime({received:UInt32})')
  }
  if (to !== undefined) {
    params['to'] = to * 1000
    parts.push(`at < ${moment('to')}`)
  }
  return parts
}

/** Values from outside become parameters and never part of the statement. */
function filters({ deviceIds, labels, find, before }: FleetHistoryQuery, params: Params): readonly string[] {
  const parts: string[] = []
  if (deviceIds !== undefined) {
    params['devices'] = deviceIds
    parts.push('device_id IN {devices:Array(String)}')
  }
  if (labels !== undefined) {
    params['labels'] = labels
    parts.push('label IN {labels:Array(String)}')
  }
  if (find !== undefined) {
    params['find'] = find
    const has = (field: string) =>
      `positionCaseInsensitiveUTF8(JSONExtractString(body, '${field}'), {find:String}) > 0`
    parts.push(`(${has('message')} OR ${has('logger')})`)
  }
  if (before !== undefined) {
    Object.assign(params, positionParams(before))
    const place = `(${moment('at')}, {version:UInt64}, {kind:String}, {device:String})`
    parts.push(`at <= ${moment('at')}`, `(at, version, kind, device_id) < ${place}`)
  }
  return parts
}

function positionParams({ at, version, kind, deviceId }: FleetPlace): Params {
  return { at, version, kind, device: deviceId }
}

function isSame(row: HistoryRow, other: HistoryRow | undefined): boolean {
  return (
    other?.at === row.at &&
    other.version === row.version &&
    other.kind === row.kind &&
    other.deviceId === row.deviceId
  )
}

/** Reads rows of RowBinary with the columns device_id, kind, at Int64, version UInt64, body. */
export function toRows(bytes: Buffer): readonly HistoryRow[] {
  const rows: HistoryRow[] = []
  const reader = new RowReader(bytes)
  while (reader.hasMore())
    rows.push({
      // Only valid device ids are written, and the statement selects known kinds only.
      deviceId: reader.text() as DeviceId,
      kind: reader.text() as HistoryKind,
      at: Micros(reader.int64()),
      version: reader.int64(),
      // Bodies are written as JSON objects.
      body: JSON.parse(reader.text()) as HistoryRow['body'],
    })
  return rows
}
