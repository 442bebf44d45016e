// Answers about the history of many devices, computed from all rows.
import { CommandId, type Micros, Millis } from '../../../../schemas/ids.ts'
import type { CommandStatus } from '../../../../schemas/vocabulary.ts'
import { byCreation } from '../../../domain/command/kept-commands.ts'
import { byAge, type HistoryKind } from '../../../domain/history/row.ts'
import type {
  CommandPlace,
  FleetHistoryQuery,
  FleetPlace,
  HistoryRow,
  PastCommand,
  PastCommandsQuery,
} from '../../../ports/history.ts'

/** The field of a body by which rows of a kind are filtered: its value is the row's label. */
const LABEL_FIELDS: Readonly<Partial<Record<HistoryKind, string>>> = { shadow: 'section', log: 'level' }

export function labelOf({ kind, body }: HistoryRow): string {
  const field = LABEL_FIELDS[kind]
  const label = field === undefined ? '' : body[field]
  return typeof label === 'string' ? label : ''
}

export function fleetRows(
  all: readonly HistoryRow[],
  { deviceIds, kinds, from, to, labels, find, before, limit }: FleetHistoryQuery,
): readonly HistoryRow[] {
  return all
    .filter(
      (row) =>
        kinds.includes(row.kind) &&
        (deviceIds?.includes(row.deviceId) ?? true) &&
        isWithin(row.at, { from, to }) &&
        (labels?.includes(labelOf(row)) ?? true) &&
        (find === undefined || isFound(row, find)) &&
        (before === undefined || byPlace(before, row) < 0),
    )
    .sort(byPlace)
    .slice(0, limit)
}

export function pastCommands(
  all: readonly HistoryRow[],
  { deviceIds, name, createdBy, broadcastId, statuses, from, to, before, limit }: PastCommandsQuery,
): readonly PastCommand[] {
  const is = (wanted: string | undefined, value: unknown) => wanted === undefined || wanted === value
  const found = grouped(all).flatMap(({ first, last }): readonly PastCommand[] => {
    const { body, deviceId } = first
    const place = {
      deviceId,
      commandId: CommandId(String(body['command_id'])),
      createdAt: Millis(Math.floor(first.at / 1000)),
    }
    // Written by the engine.
    const status = last.body['status'] as CommandStatus
    const fits =
      body['status'] === 'pending' &&
      (deviceIds?.includes(deviceId) ?? true) &&
      isWithin(first.at, { from, to }) &&
      is(name, body['command']) &&
      is(createdBy, body['created_by']) &&
      is(broadcastId, body['broadcast_id']) &&
      (statuses?.includes(status) ?? true) &&
      (before === undefined || byCreation(before, place) < 0)
    return fits ? [{ ...place, status }] : []
  })
  return found.sort(byCreation).slice(0, limit)
}

export function commandSteps(
  all: readonly HistoryRow[],
  commands: readonly CommandPlace[],
): readonly HistoryRow[] {
  const wanted = new Set(commands.map(({ deviceId, commandId }) => `${deviceId} ${commandId}`))
  const keyOf = ({ deviceId, body }: HistoryRow) => `${deviceId} ${body['command_id']}`
  const newestFirst = all.filter((row) => row.kind === 'command' && wanted.has(keyOf(row))).sort(byPlace)
  const firsts = new Map<string, HistoryRow>()
  const lasts = new Map<string, HistoryRow>()
  for (const row of newestFirst.toReversed()) {
    const { status, conflict = null } = row.body
    const key = `${keyOf(row)} ${status} ${JSON.stringify(conflict)}`
    if (!firsts.has(key)) firsts.set(key, row)
    lasts.set(keyOf(row), row)
  }
  const shown = new Set([...firsts.values(), ...lasts.values()])
  return newestFirst.filter((row) => shown.has(row))
}

function grouped(all: readonly HistoryRow[]) {
  const commands = new Map<string, { first: HistoryRow; last: HistoryRow }>()
  for (const row of all
    .filter(({ kind }) => kind === 'command')
    .sort(byAge)
    .reverse()) {
    const key = `${row.deviceId} ${row.body['command_id']}`
    const command = commands.get(key)
    if (command === undefined) commands.set(key, { first: row, last: row })
    else command.last = row
  }
  return [...commands.values()]
}

function isWithin(at: Micros, { from, to }: { from: Millis | undefined; to: Millis | undefined }): boolean {
  return (from === undefined || at >= from * 1000) && (to === undefined || at < to * 1000)
}

function isFound({ body }: HistoryRow, find: string): boolean {
  const text = find.toLowerCase()
  return [body['message'], body['logger']].some(
    (value) => typeof value === 'string' && value.toLowerCase().includes(text),
  )
}

function byPlace(a: FleetPlace, b: FleetPlace): number {
  return byAge(a, b) || (a.deviceId < b.deviceId ? 1 : a.deviceId > b.deviceId ? -1 : 0)
}
