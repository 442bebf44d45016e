// What a device was refused, as entries of the audit.
import { type DeviceId, parseDeviceId } from '../../../schemas/ids.ts'
import type { AuditEntry } from './entry.ts'

const REFUSED = { outcome: 'refused' } as const

/** Whose credentials are wrong is only claimed. */
export function connectRefused(
  { clientId, ip }: { readonly clientId: string; readonly ip: string },
  reason: string,
): AuditEntry {
  return {
    ...REFUSED,
    actor: { type: 'anonymous' },
    action: 'mqtt.connect',
    deviceId: parseDeviceId(clientId),
    code: 'MQTT_CONNECTION_REFUSED',
    ip,
    detail: { reason },
  }
}

/** A message among the dead letters. */
export function messageRefused({
  deviceId,
  reason,
}: {
  readonly deviceId: DeviceId
  readonly reason: string
}): AuditEntry {
  const actor = { type: 'device', id: deviceId } as const
  return { ...REFUSED, actor, action: 'mqtt.message', deviceId, code: reason }
}
