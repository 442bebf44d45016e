// The body of a device in REST and /ws.

import { type HeartbeatTimeouts, heartbeatTimeoutOf } from '../../engine/domain/device/heartbeat.ts'
import { fnv1a } from '../../engine/domain/fnv1a.ts'
import type { DeviceView } from '../../engine/index.ts'
import { toIso } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { isoOrNull } from './iso-or-null.ts'

const NO_ALERTS = { critical: 0, warning: 0, info: 0 }

export function deviceBody(view: DeviceView, timeouts: HeartbeatTimeouts) {
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
    firmware: firmwareBody(view),
    issues: [...device.issues],
    heartbeat_timeout_sec: heartbeatTimeoutOf(device, timeouts) / 1_000,
    connectivity: {
      connected: view.connected,
      since: isoOrNull(view.connectedSince),
      reason: view.connectionReason ?? null,
      session_id: view.sessionId ?? null,
      ip: view.ip ?? null,
      subscriptions: [...(view.subscriptions ?? [])],
      flapping: view.flapping,
    },
    last_seen_at: isoOrNull(view.lastSeenAt),
    last_telemetry_at: isoOrNull(view.lastTelemetryAt),
    alerts: view.alerts ?? NO_ALERTS,
    created_at: toIso(device.createdAt),
    updated_at: toIso(device.updatedAt),
    etag: deviceEtag(view),
  }
}

function firmwareBody({ device, firmware }: DeviceView) {
  const update = firmware?.update
  return {
    version: device.firmwareVersion ?? null,
    firmware_id: firmware?.firmwareId ?? null,
    sha256: firmware?.sha256 ?? null,
    since: isoOrNull(firmware?.since),
    previous_version: firmware?.previousVersion ?? null,
    update:
      update === undefined
        ? null
        : { deployment_id: update.deploymentId, status: update.status, progress: update.progress ?? null },
  }
}

/** The ETag `<revision>-<live>` without quotes. Edits are checked against the revision only, cached copies against both. So
 *  a mere message of the device invalidates cached copies, but no pending edit. */
export function deviceEtag(view: DeviceView): string {
  const { connected, connectedSince, connectionReason, sessionId, ip, subscriptions } = view
  const { flapping, lastSeenAt, lastTelemetryAt } = view
  const session = [connected, connectedSince, connectionReason, sessionId, ip, subscriptions, flapping]
  const update = view.firmware?.update
  const seen = [lastSeenAt, lastTelemetryAt, JSON.stringify(view.alerts)]
  const live = [...session, ...seen, update?.deploymentId, update?.status]
  return `${view.device.revision}-${fnv1a(live.join(' ')).toString(36)}`
}
