// The body of an alert in REST and /ws: the engine's view of it, and a link for people.
import type { JsonObject } from '../../schemas/json.ts'

export interface AlertBodySettings {
  /** Base of all links that the service sends, without a trailing slash. */
  readonly publicUrl?: (() => string) | undefined
}

export function alertBodyOf(alert: JsonObject, { publicUrl }: AlertBodySettings): JsonObject {
  const { device_id: deviceId, alert_id: alertId } = alert
  // A pending alert about the fleet has no page of its own.
  const own = typeof alertId === 'string' ? `alerts/${alertId}` : 'alerts'
  const path = typeof deviceId === 'string' ? `devices/${deviceId}` : own
  return { ...alert, link: `${publicUrl?.() ?? ''}/${path}` }
}
