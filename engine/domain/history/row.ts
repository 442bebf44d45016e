// Rows of a device's history: one per shadow change, command step, status move or log line.
import type { DeviceId, Micros } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'

export const HISTORY_KINDS = ['shadow', 'command', 'status', 'ota', 'log', 'alert'] as const
export type HistoryKind = (typeof HISTORY_KINDS)[number]

/** Identifies a row. A row that is written again with the same key replaces the earlier one. */
export interface HistoryKey {
  readonly deviceId: DeviceId
  readonly kind: HistoryKind
  readonly at: Micros
  /** The log position times 65 536 plus the index within the entry: a whole number below 2^53, greater for later rows. */
  readonly version: number
}

export interface HistoryRow extends HistoryKey {
  readonly body: JsonObject
}

/** A row of the history or of the audit on its way to storage, with its body as JSON text. */
export interface WrittenRow extends Omit<HistoryKey, 'deviceId' | 'kind'> {
  /** Empty for an audit entry that does not concern a device. */
  readonly deviceId: DeviceId | ''
  readonly kind: HistoryKind | 'audit'
  readonly body: string
}

/** A row of a device's history. */
export interface WrittenHistory extends HistoryKey {
  readonly body: string
}

export function writtenRow({ deviceId, kind, at, version, body }: HistoryRow): WrittenHistory {
  return { deviceId, kind, at, version, body: JSON.stringify(body) }
}

type RowAge = Pick<WrittenRow, 'at' | 'version' | 'kind'>

/** Sorts the newest row first, by time, then version, then kind. */
export function byAge(a: RowAge, b: RowAge): number {
  if (a.at !== b.at) return b.at - a.at
  if (a.version !== b.version) return b.version - a.version
  return a.kind === b.kind ? 0 : a.kind < b.kind ? 1 : -1
}
