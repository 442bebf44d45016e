// Queries of the commands of many devices. A command follows from its steps in the history: its first row, the only one
// with the status `pending`, is its creation, and its last row has its status.
import { CommandId, type DeviceId, Millis } from '../../../../schemas/ids.ts'
import type { CommandStatus } from '../../../../schemas/vocabulary.ts'
import { LIMITS } from '../../../limits.ts'
import type { CommandPlace, HistoryRow, PastCommand, PastCommandsQuery } from '../../../ports/history.ts'
import type { Statement } from './clickhouse-link.ts'
import { type Ask, timeConditions, toRows } from './fleet-history.ts'
import { RowReader } from './row-reader.ts'
import { type Window, windows } from './time-windows.ts'

type Params = Record<string, string | number | readonly string[]>

/** Longest time from the creation to the last step: the command's timeout, a day for late answers, and one to spare. */
const LIFE_MS = LIMITS.commandTimeoutSecMax * 1000 + 2 * 86_400_000
const BODY_FIELDS = { name: 'command', createdBy: 'created_by', broadcastId: 'broadcast_id' } as const

export async function readPastCommands(
  query: PastCommandsQuery,
  now: number,
  ask: Ask,
): Promise<readonly PastCommand[]> {
  if (query.limit <= 0 || query.deviceIds?.length === 0 || query.statuses?.length === 0) return []
  const found: PastCommand[] = []
  const end = query.before === undefined ? undefined : query.before.createdAt + 1
  const to = end === undefined || (query.to ?? end) < end ? query.to : end
  const span = { from: query.from, to }
  // Rows are ordered by device, so the rows of a single device are read in one window.
  for (const window of query.deviceIds?.length === 1 ? [span] : windows(span, now)) {
    const limit = query.limit - found.length
    found.push(...toCommands(await ask(createdStatement({ ...query, limit }, window))))
    if (found.length >= query.limit) break
  }
  return found
}

/** The commands that were created within the window. */
function createdStatement(query: PastCommandsQuery, window: Window): Statement {
  const params: Params = { limit: query.limit }
  const { deviceIds, statuses, before } = query
  const where = [
    `kind = 'command'`,
    ...timeConditions(
      { from: window.from, to: window.to === undefined ? undefined : window.to + LIFE_MS },
      params,
    ),
  ]
  if (deviceIds !== undefined) {
    params['devices'] = deviceIds
    where.push('device_id IN {devices:Array(String)}')
  }
  for (const [name, field] of Object.entries(BODY_FIELDS)) {
    // `BODY_FIELDS` is keyed by the field names of the query.
    const wanted = query[name as keyof typeof BODY_FIELDS]
    if (wanted === undefined) continue
    params[name] = wanted
    where.push(`JSONExtractString(body, '${field}') = {${name}:String}`)
  }
  const having = [`countIf(command_status = 'pending') > 0`]
  if (window.to !== undefined) {
    params['made_to'] = window.to
    having.push('made < {made_to:Int64}')
  }
  if (statuses !== undefined) {
    params['statuses'] = statuses
    having.push('status IN {statuses:Array(String)}')
  }
  if (before !== undefined) {
    Object.assign(params, { made: before.createdAt, id: before.commandId, device: before.deviceId })
    having.push('(made, command_id, device_id) < ({made:Int64}, {id:String}, {device:String})')
  }
  return {
    sql: `SELECT device_id, command_id,
        toUnixTimestamp64Milli(minIf(at, command_status = 'pending')) AS made,
        argMax(command_status, (at, version)) AS status
      FROM history WHERE ${where.join(' AND ')} GROUP BY device_id, command_id HAVING ${having.join(' AND ')}
      ORDER BY made DESC, command_id DESC, device_id DESC LIMIT {limit:UInt32} FORMAT RowBinary`,
    params,
    settings: { max_rows_to_read: LIMITS.fleetHistoryRowsReadMax },
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  }
}

export async function readCommandSteps(
  commands: readonly CommandPlace[],
  ask: Ask,
): Promise<readonly HistoryRow[]> {
  if (commands.length === 0) return []
  const times = commands.map(({ createdAt }) => createdAt)
  const params: Params = {
    devices: [...new Set(commands.map(({ deviceId }) => deviceId))],
    ids: [...new Set(commands.map(({ commandId }) => commandId))],
  }
  const parts = [
    `kind = 'command' AND device_id IN {devices:Array(String)} AND command_id IN {ids:Array(String)}`,
    // Creation times are in milliseconds.
    ...timeConditions({ from: Math.min(...times), to: Math.max(...times) + 1 + LIFE_MS }, params),
  ]
  const command = 'PARTITION BY device_id, command_id'
  // Between its statuses, a command may have thousands of rows with its progress.
  const rows = await ask({
    sql: `SELECT device_id, kind, us, version, body FROM (
        SELECT device_id, kind, toUnixTimestamp64Micro(at) AS us, version, body,
          row_number() OVER (${command}, command_status, JSONExtractRaw(body, 'conflict') ORDER BY at, version) AS nth,
          row_number() OVER (${command} ORDER BY at DESC, version DESC) AS nth_last
        FROM history FINAL WHERE ${parts.join(' AND ')})
      WHERE nth = 1 OR nth_last = 1
      ORDER BY us DESC, version DESC LIMIT ${LIMITS.commandStepsMax} FORMAT RowBinary`,
    params,
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  })
  return toRows(rows)
}

/** Reads rows of RowBinary with the columns device_id, command_id, made Int64, status. */
function toCommands(bytes: Buffer): readonly PastCommand[] {
  const found: PastCommand[] = []
  const reader = new RowReader(bytes)
  while (reader.hasMore())
    found.push({
      // Only valid device ids are written.
      deviceId: reader.text() as DeviceId,
      commandId: CommandId(reader.text()),
      createdAt: Millis(reader.int64()),
      // The engine wrote this value.
      status: reader.text() as CommandStatus,
    })
  return found
}
