// The body of an alert in REST and /ws: as the engine shows it, with a link for people.
import type { JsonObject } from '../../schemas/json.ts'

export interface AlertBodySettings {
  /** Base of every link sent out, without a slash at its end. */
  readonly publicUrl?: (() => string) | undefined
}

export function alertBodyOf(alert: JsonObject, { publicUrl }: AlertBodySettings): JsonObject {
  const { device_id: deviceId, alert_id: alertId } = alert
  // What is pending about the fleet has no page of its own.
  const own = typeof alertId === 'string' ? `alerts/${alertId}` : 'alerts'
  const path = typeof deviceId === 'string' ? `devices/${deviceId}` : own
  return { ...alert, link: `${publicUrl?.() ?? ''}/${path}` }
}
