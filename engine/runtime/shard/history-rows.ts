// Rows of the history: what happened to a device, its shadow and its commands.
import { type DeviceId, Micros, type Millis, toIso, toMillis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Command, CommandError, CommandResult } from '../../domain/command/record.ts'
import type { Effect } from '../../domain/device/events.ts'
import type { Device } from '../../domain/device/record.ts'
import type { HistoryRow } from '../../domain/history/row.ts'
import type { ShadowChange } from '../../domain/shadow/record.ts'
import { shortHash } from '../../domain/short-hash.ts'

/** How many hexadecimal digits still make an exact number. */
const SAFE_DIGITS = 13

type StatusEffect = Extract<Effect, { event: 'device.registered' | 'device.status' }>

/** One row per change of status. Rows keep the order of the changes, even if a sweep was ahead of an older message. */
export function statusRow(
  before: Device | undefined,
  { id, status, statusReason, revision }: Device,
  { cause, by, now }: Pick<StatusEffect, 'cause' | 'by'> & { readonly now: Millis },
): HistoryRow {
  return {
    deviceId: id,
    kind: 'status',
    at: Micros(Math.max(now, before?.statusSince ?? now) * 1000),
    version: revision,
    body: {
      from: before?.status ?? null,
      to: status,
      cause,
      reason: statusReason ?? null,
      actor: by === undefined ? null : { type: by.kind, id: by.id },
    },
  }
}

/** One row per version. The shadow's own version tells rows apart. */
export function shadowRow(deviceId: DeviceId, change: ShadowChange): HistoryRow {
  const { version, at, section, by, patch, previous, requestId } = change
  return {
    deviceId,
    kind: 'shadow',
    at: Micros(at * 1000),
    version,
    body: {
      version,
      timestamp: toIso(at),
      section,
      actor: { type: by.kind, id: by.id },
      patch,
      previous,
      request_id: requestId ?? null,
    },
  }
}

/** When and where in the log something happened, and its number among the rows of that moment. */
export interface RowPlace {
  readonly at: number
  readonly row: number
  /** Undefined for a sweep. */
  readonly place: number | undefined
}

/** A number that tells rows of one moment apart: always the same for the same row, and different for different rows. If
 *  the clock was set back, two sweeps may share a moment and have no place. Then their content tells their rows apart. */
export function versionOf(
  { place }: Pick<RowPlace, 'place'>,
  ...step: readonly (string | number | undefined)[]
): number {
  return place ?? Number.parseInt(shortHash(step.join(' ')).slice(0, SAFE_DIGITS), 16)
}

/** One row per step. Only the first row has the command's data. */
export function commandRow(deviceId: DeviceId, command: Command, rowPlace: RowPlace): HistoryRow {
  const { at: moment, row } = rowPlace
  // A command may arrive expired. A sweep then ends it, and the sweep's time may be earlier than the command's.
  const isFirst = command.status === 'pending'
  const at = Micros(row + (isFirst ? moment : Math.max(moment, (command.createdAt + 1) * 1000)))
  const { status, name, priority, createdBy, broadcastId, progress, late, cancelledBy } = command
  const about: JsonObject = {
    command_id: command.id,
    command: name,
    status,
    timestamp: toIso(toMillis(at)),
    priority,
    created_by: createdBy,
    broadcast_id: broadcastId ?? null,
    attempts: command.delivery.attempts,
    progress: progress ?? null,
    late,
  }
  const started = status === 'pending' ? { data: command.data, expires_at: toIso(command.expiresAt) } : {}
  const ended = status === 'cancelled' ? { cancelled_by: cancelledBy ?? null } : resultOf(command)
  return {
    deviceId,
    kind: 'command',
    at,
    version: versionOf(rowPlace, command.id, status, command.delivery.attempts),
    body: { ...about, ...started, ...ended, ...conflictOf(command) },
  }
}

function resultOf(command: Command): JsonObject {
  const { error } = command
  if (command.completedAt === undefined) return error === undefined ? {} : { error: errorOf(error) }
  return { ...saidOf(command), result_bytes_omitted: command.resultBytesOmitted ?? null }
}

/** The newest conflict. Every conflict was the newest once, so the rows together have them all. */
function conflictOf({ conflicts }: Command): JsonObject {
  const conflict = conflicts.at(-1)
  if (conflict === undefined) return {}
  return { conflict: { status: conflict.status, at: toIso(conflict.at), ...saidOf(conflict) } }
}

function saidOf({ executedAt, result, error }: CommandResult): JsonObject {
  return {
    executed_at: executedAt === undefined ? null : toIso(executedAt),
    result: result ?? null,
    error: error === undefined ? null : errorOf(error),
  }
}

function errorOf({ code, message }: CommandError): JsonObject {
  return { code, message }
}
