// Converts a row of a bulk registration, for a device that exists, to the change that PATCH /devices/{id} would make.
import { type DeviceEdit, decideEdit } from '../../engine/domain/device/edit.ts'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import type { RegisterDeviceBody } from '../../schemas/device.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { refuseMetadata, unique } from './device-checks.ts'

export interface PlannedEdit {
  readonly kind: 'edit'
  readonly deviceId: DeviceId
  /** Undefined if the device already has all of it. */
  readonly request: DeviceEdit | undefined
}

/** `isDecommissioned` means that the row is from an export in which the device was decommissioned. */
export function toEdit(
  existing: DeviceRecord,
  row: RegisterDeviceBody,
  isDecommissioned: boolean,
): PlannedEdit | Refusal {
  if (isDecommissioned && existing.status === 'decommissioned')
    return { kind: 'edit', deviceId: existing.id, request: undefined }
  if (isDecommissioned)
    return refused('DEVICE_DECOMMISSIONED', { message: 'the row is of a decommissioned device' })
  if (row.type !== existing.type) return fixed('type', existing.type)
  if (row.parent_id !== undefined && (row.parent_id ?? undefined) !== existing.parentId)
    return fixed('parent_id', existing.parentId)
  const unfit = refuseMetadata(row.metadata)
  if (unfit !== undefined) return unfit
  const { name, description, group, metadata, heartbeat_timeout_sec: heartbeatTimeoutSec } = row
  const fields = { name, description, group, metadata, heartbeatTimeoutSec, tags: unique(row.tags) }
  const edit: DeviceEdit = { kind: 'edit', replace: false, ...fields }
  const verdict = decideEdit(existing, edit)
  if (verdict.kind === 'refused') return refused(verdict.code, verdict.detail)
  return { kind: 'edit', deviceId: existing.id, request: verdict.kind === 'same' ? undefined : edit }
}

function fixed(field: string, value: string | undefined): Refusal {
  return invalid(`/${field}`, {
    code: 'IMMUTABLE_FIELD',
    message: `cannot be changed; it is ${value ?? 'not set'}`,
  })
}
