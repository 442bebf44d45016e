// What happened to a device, as it is kept: one row per change, command step, status move or line of its log.
import type { DeviceId, Micros } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'

export const HISTORY_KINDS = ['shadow', 'command', 'status', 'log'] as const
export type HistoryKind = (typeof HISTORY_KINDS)[number]

/** What tells rows apart: the same key again is the same row. */
export interface HistoryKey {
  readonly deviceId: DeviceId
  readonly kind: HistoryKind
  readonly at: Micros
  /** Greater for what came later, as log position times 65 536 plus index; a whole number below 2^53. */
  readonly version: number
}

export interface HistoryRow extends HistoryKey {
  readonly body: JsonObject
}

/** A row on its way, of the history or of the audit: its body is JSON text, written once. */
export interface WrittenRow extends Omit<HistoryKey, 'deviceId' | 'kind'> {
  /** Empty for an entry of the audit that is about no device. */
  readonly deviceId: DeviceId | ''
  readonly kind: HistoryKind | 'audit'
  readonly body: string
}

/** One of the history: of a device. */
export interface WrittenHistory extends HistoryKey {
  readonly body: string
}

export function writtenRow({ deviceId, kind, at, version, body }: HistoryRow): WrittenHistory {
  return { deviceId, kind, at, version, body: JSON.stringify(body) }
}

type Aged = Pick<WrittenRow, 'at' | 'version' | 'kind'>

/** Newest first: by time, then version, then kind. */
export function byAge(a: Aged, b: Aged): number {
  if (a.at !== b.at) return b.at - a.at
  if (a.version !== b.version) return b.version - a.version
  return a.kind === b.kind ? 0 : a.kind < b.kind ? 1 : -1
}
