// Checks of a device's fields that a schema cannot express.

import { metadataTooLarge } from '../../engine/domain/device/metadata-bound.ts'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { isDeeper } from '../../engine/domain/is-deeper.ts'
import type { Directory } from '../../engine/ports/store.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Services } from '../http/services.ts'
import { API_LIMITS } from '../limits.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

export function refuseMetadata(metadata: JsonObject | null | undefined): Refusal | undefined {
  if (metadata === null || metadata === undefined) return undefined
  const detail = metadataTooLarge(metadata)
  if (detail !== undefined) return refused('PAYLOAD_TOO_LARGE', detail)
  const depthMax = BODY_LIMITS.metadataDepthMax
  return isDeeper(metadata, depthMax)
    ? invalid('/metadata', { code: 'TOO_DEEP', message: `must be nested at most ${depthMax} levels deep` })
    : undefined
}

/** A parent must be a gateway in service that is not a sub-device itself, so there is only one level. */
export function refuseParent(
  devices: Directory,
  deviceId: DeviceId,
  parent: string | null | undefined,
): Refusal | undefined {
  if (parent === null || parent === undefined) return undefined
  const parentId = parseDeviceId(parent)
  const gateway = parentId && devices.get(parentId)
  const why = parentId === deviceId ? 'is the device itself' : gatewayFault(devices, gateway)
  return why === undefined
    ? undefined
    : invalid('/parent_id', {
        code: 'NOT_ALLOWED',
        message: `must be a gateway in service; ${parent} ${why}`,
      })
}

function gatewayFault(devices: Directory, gateway: DeviceRecord | undefined): string | undefined {
  if (gateway === undefined) return 'is not registered'
  if (gateway.type !== 'gateway') return `is of type ${gateway.type}`
  if (gateway.status === 'decommissioned') return 'is decommissioned'
  if (gateway.parentId !== undefined) return `is a sub-device of ${gateway.parentId}`
  return devices.subDevices(gateway.id).length >= API_LIMITS.subDevicesMax
    ? `has ${API_LIMITS.subDevicesMax} sub-devices already`
    : undefined
}

/** Removes duplicate tags. */
export function unique<T extends readonly string[] | null | undefined>(tags: T) {
  return Array.isArray(tags) ? [...new Set(tags)] : tags
}

export const unknownType = ({ deviceTypes }: Pick<Services, 'deviceTypes'>, place: 'body' | 'query') =>
  invalid('/type', {
    code: 'NOT_ALLOWED',
    message: `must be one of ${deviceTypes.names.join(', ')}`,
    in: place,
  })
