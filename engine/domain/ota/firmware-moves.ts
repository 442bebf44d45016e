// Creates and changes firmware records. Only the leader applies these functions, one after the other.
import type { Millis } from '../../../schemas/ids.ts'
import type { FirmwareStatus } from '../../../schemas/vocabulary.ts'
import type { FirmwareRecord } from './firmware-record.ts'

/** [spec: 4.2] `available` and `deprecated` change into each other, and nothing comes back from `yanked`. */
const MOVES: Readonly<Record<FirmwareStatus, readonly FirmwareStatus[]>> = {
  available: ['deprecated', 'yanked'],
  deprecated: ['available', 'yanked'],
  yanked: [],
}

export interface FirmwareEdit {
  readonly changelog?: string | undefined
  readonly status?: FirmwareStatus | undefined
}

export type EditedFirmware =
  /** The same record if the edit changes nothing. */
  | { readonly kind: 'edited'; readonly record: FirmwareRecord }
  | { readonly kind: 'refused'; readonly allowed: readonly FirmwareStatus[] }

export function editFirmware(record: FirmwareRecord, edit: FirmwareEdit, now: Millis): EditedFirmware {
  const { changelog = record.changelog, status = record.status } = edit
  const isMove = status !== record.status
  if (isMove && !MOVES[record.status].includes(status))
    return { kind: 'refused', allowed: MOVES[record.status] }
  if (!isMove && changelog === record.changelog) return { kind: 'edited', record }
  return { kind: 'edited', record: { ...record, changelog, status, ...changed(record, now) } }
}

/** Returns the firmware with its image stored again, because the earlier one was lost. */
export function withImage(record: FirmwareRecord, imageKey: string, now: Millis): FirmwareRecord {
  return { ...record, imageKey, ...changed(record, now) }
}

const changed = ({ revision }: FirmwareRecord, now: Millis) => ({ updatedAt: now, revision: revision + 1 })
