// Which gateway may send for a device. The device's own record decides, as it is at the message's place in the log.
import type { DeviceId, Millis } from '../../../schemas/ids.ts'
import type { Device } from './record.ts'

export interface SenderRefusal {
  readonly reason: 'UNKNOWN_DEVICE' | 'NOT_ITS_GATEWAY' | 'DEVICE_DECOMMISSIONED'
  readonly detail: string
}

/** Compares times, so that a replay with a later record gives the same result. */
export function refuseGateway(
  device: Device | undefined,
  gateway: DeviceId,
  at: Millis,
): SenderRefusal | undefined {
  if (device === undefined) return { reason: 'UNKNOWN_DEVICE', detail: 'no such sub-device is registered' }
  if (device.parentId !== gateway)
    return {
      reason: 'NOT_ITS_GATEWAY',
      detail: `${device.id} is registered without this gateway as parent_id`,
    }
  if (device.status === 'decommissioned' && at > device.statusSince)
    return { reason: 'DEVICE_DECOMMISSIONED', detail: `${device.id} is decommissioned` }
  return undefined
}
