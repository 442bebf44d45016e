// The body of a device in REST and /ws.
import type { DeviceView } from '../../engine/index.ts'
import { type Millis, toIso } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'

export interface DeviceBodySettings {
  readonly heartbeatTimeoutMs: number
}

export function deviceBody(view: DeviceView, { heartbeatTimeoutMs }: DeviceBodySettings) {
  const { device } = view
  // Metadata arrived as JSON; the engine's type has the same shape.
  const metadata: JsonObject = device.metadata
  return {
    device_id: device.id,
    name: device.name,
    type: device.type,
    description: device.description ?? null,
    status: device.status,
    status_reason: device.statusReason ?? null,
    group: device.group ?? null,
    tags: [...device.tags],
    metadata,
    parent_id: device.parentId ?? null,
    firmware_version: device.firmwareVersion ?? null,
    issues: [...device.issues],
    heartbeat_timeout_sec: heartbeatTimeoutMs / 1000,
    connectivity: {
      connected: view.connected,
      since: isoOrNull(view.connectedSince),
      reason: view.connectionReason ?? null,
      session_id: view.sessionId ?? null,
      ip: view.ip ?? null,
      flapping: view.flapping,
    },
    last_seen_at: isoOrNull(view.lastSeenAt),
    last_telemetry_at: isoOrNull(view.lastTelemetryAt),
    created_at: toIso(device.createdAt),
    updated_at: toIso(device.updatedAt),
    etag: deviceEtag(view),
  }
}

/** The ETag `<revision>-<live>` without quotes. An edit is checked against the revision alone and a cached copy against
 *  both, so that after a mere message the device is read afresh but can still be edited. */
export function deviceEtag(view: DeviceView): string {
  const { connected, connectedSince, connectionReason, sessionId, ip } = view
  const { flapping, lastSeenAt, lastTelemetryAt } = view
  const session = [connected, connectedSince, connectionReason, sessionId, ip, flapping]
  const live = [...session, lastSeenAt, lastTelemetryAt]
  return `${view.device.revision}-${hash32(live.join(' ')).toString(36)}`
}

/** The hash FNV-1a. */
function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

const isoOrNull = (at: Millis | undefined) => (at === undefined ? null : toIso(at))
