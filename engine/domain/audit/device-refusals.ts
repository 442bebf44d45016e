// Audit entries about what a device was refused, and about credentials that end soon.
import { type DeviceId, type Millis, parseDeviceId, toIso } from '../../../schemas/ids.ts'
import { HAS_EXPIRED } from '../../../schemas/vocabulary.ts'
import type { AuditEntry } from './entry.ts'

const REFUSED = { outcome: 'refused' } as const

/** The actor is anonymous, because refused credentials prove no identity. */
export function connectRefused(
  {
    clientId,
    ip,
    certificate,
  }: {
    readonly clientId: string
    readonly ip: string
    readonly certificate?: { readonly fault: string | undefined } | undefined
  },
  reason: string,
): AuditEntry {
  return {
    ...REFUSED,
    actor: { type: 'anonymous' },
    action: 'mqtt.connect',
    deviceId: parseDeviceId(clientId),
    // [spec: Named error conditions]
    code: certificate?.fault === HAS_EXPIRED ? 'CERTIFICATE_EXPIRED' : 'MQTT_CONNECTION_REFUSED',
    ip,
    detail: { reason },
  }
}

/** The device has no right to use the topic. */
export function accessRefused(
  { deviceId, ip }: { readonly deviceId: DeviceId; readonly ip: string },
  wanted: 'publish' | 'subscribe',
): AuditEntry {
  return {
    ...REFUSED,
    actor: { type: 'device', id: deviceId },
    action: 'mqtt.access',
    deviceId,
    code: wanted === 'publish' ? 'PUBLISH_DENIED' : 'SUBSCRIBE_DENIED',
    ip,
  }
}

/** The device is told as well, but its program may not handle that message. */
export function credentialsEnd(
  { deviceId, ip }: { readonly deviceId: DeviceId; readonly ip: string },
  expiresAt: Millis,
): AuditEntry {
  return {
    outcome: 'success',
    actor: { type: 'device', id: deviceId },
    action: 'mqtt.token',
    deviceId,
    ip,
    detail: { reason: `its credentials end at ${toIso(expiresAt)}` },
  }
}

/** The message itself is kept as a dead letter. */
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
