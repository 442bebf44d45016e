// How an edit changes a device's record, and why it may be refused.
import type { JsonObject } from '../../../schemas/json.ts'
import type { Refusal, RefusalCode } from '../../../schemas/refusals.ts'
import { LIMITS } from '../../limits.ts'
import type { DeviceRequest } from './events.ts'
import { mergePatch } from './merge-patch.ts'
import { metadataTooLarge } from './metadata-bound.ts'
import type { DeviceRecord } from './record.ts'
import { type Cause, isFinal, moveByHand } from './status.ts'

export type DeviceEdit = Extract<DeviceRequest, { kind: 'edit' }>

export type EditVerdict<D extends DeviceRecord> =
  | { readonly kind: 'same' }
  | {
      readonly kind: 'edited'
      readonly device: D
      /** Set if the edit also changes the status. */
      readonly cause: Cause | undefined
    }
  | Refusal

export function decideEdit<D extends DeviceRecord>(device: D, edit: DeviceEdit): EditVerdict<D> {
  const { status, revision } = device
  if (isFinal(status)) return refused('DEVICE_DECOMMISSIONED', { device_id: device.id })
  if (edit.ifRevision !== undefined && edit.ifRevision !== revision)
    return refused('PRECONDITION_FAILED', { expected: revision, got: edit.ifRevision })
  const edited = applyEdit(device, edit)
  const tooLarge = edit.metadata === undefined ? undefined : metadataTooLarge(edited.metadata)
  if (tooLarge !== undefined) return refused('PAYLOAD_TOO_LARGE', tooLarge)
  if (edited.tags.length > LIMITS.tagsMax)
    return refused('LIMIT_REACHED', {
      message: `a device has at most ${LIMITS.tagsMax} tags, these would be ${edited.tags.length}`,
      limit: LIMITS.tagsMax,
    })
  const statusMove = edit.status === undefined ? undefined : moveByHand(status, edit.status)
  if (statusMove?.kind === 'refused')
    return refused('INVALID_STATE_TRANSITION', { from: status, to: edit.status, allowed: statusMove.allowed })
  if (statusMove?.kind === 'move') return { kind: 'edited', device: edited, cause: statusMove.cause }
  return isSameEdit(device, edited) ? { kind: 'same' } : { kind: 'edited', device: edited, cause: undefined }
}

function applyEdit<D extends DeviceRecord>(device: D, edit: DeviceEdit): D {
  const base: D = edit.replace ? { ...device, group: undefined, tags: [], metadata: {} } : device
  return {
    ...base,
    name: edit.name ?? base.name,
    description: edit.description === undefined ? base.description : (edit.description ?? undefined),
    heartbeatTimeoutSec:
      edit.heartbeatTimeoutSec === undefined
        ? base.heartbeatTimeoutSec
        : (edit.heartbeatTimeoutSec ?? undefined),
    group: edit.group === undefined ? base.group : (edit.group ?? undefined),
    tags: editedTags(edit.tags === undefined ? base.tags : (edit.tags ?? []), edit),
    metadata: editedMetadata(base.metadata, edit),
    // Every other status has its reason from the move that led to it.
    statusReason:
      base.status === 'maintenance' ? (edit.statusReason ?? base.statusReason) : base.statusReason,
  }
}

/** A replacement keeps nulls, as a registration does. Only in a patch does null delete (RFC 7396). */
function editedMetadata(before: JsonObject, { metadata, replace }: DeviceEdit): JsonObject {
  if (metadata === undefined) return before
  return replace ? (metadata ?? {}) : mergePatch(before, metadata ?? {}, metadata === null)
}

/** A tag that is both added and removed ends up added. */
function editedTags(
  tags: readonly string[],
  { tagsAdd = [], tagsRemove = [] }: DeviceEdit,
): readonly string[] {
  if (tagsAdd.length === 0 && tagsRemove.length === 0) return tags
  const removed = new Set(tagsRemove.filter((tag) => !tagsAdd.includes(tag)))
  return [...new Set([...tags.filter((tag) => !removed.has(tag)), ...tagsAdd])]
}

function isSameEdit(before: DeviceRecord, after: DeviceRecord): boolean {
  return (
    before.name === after.name &&
    before.description === after.description &&
    before.group === after.group &&
    before.statusReason === after.statusReason &&
    before.heartbeatTimeoutSec === after.heartbeatTimeoutSec &&
    JSON.stringify(before.tags) === JSON.stringify(after.tags) &&
    JSON.stringify(before.metadata) === JSON.stringify(after.metadata)
  )
}

function refused(
  code: RefusalCode,
  detail: Readonly<Record<string, unknown>>,
): Extract<EditVerdict<never>, { kind: 'refused' }> {
  return { kind: 'refused', code, detail }
}
