// /telemetry: the latest values of a device, its metrics, and its history.
import type { Metric } from '../../engine/index.ts'
import { toIso } from '../../schemas/ids.ts'
import type { Json } from '../../schemas/json.ts'
import { getTelemetry, listMetrics } from '../../schemas/operations/telemetry.ts'
import type { METRIC_TYPES } from '../../schemas/telemetry.ts'
import { deviceNotFound, visibleDeviceId } from '../auth/visible-device.ts'
import { answer } from '../http/answer.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { fleetTelemetryRoute } from './telemetry-fleet.ts'
import { telemetryHistoryRoute } from './telemetry-history.ts'
import { latestOfManyRoute } from './telemetry-latest.ts'

export function telemetryRoutes(services: Services): readonly Route[] {
  const { engine, deviceTypes } = services
  return [
    latestOfManyRoute(services),
    fleetTelemetryRoute(services),
    route(getTelemetry, async ({ params, user }) => {
      const deviceId = visibleDeviceId(engine, params.device_id, user)
      const snapshot = deviceId === undefined ? undefined : await engine.snapshot(deviceId)
      if (snapshot === undefined) return deviceNotFound()
      const timestamp = snapshot.timestamp === undefined ? null : toIso(snapshot.timestamp)
      return answer(200, { device_id: deviceId, timestamp, data: snapshot.data })
    }),
    route(listMetrics, async ({ params, user }) => {
      const deviceId = visibleDeviceId(engine, params.device_id, user)
      const metrics = deviceId === undefined ? undefined : await engine.metricsOf(deviceId)
      if (deviceId === undefined || metrics === undefined) return deviceNotFound()
      const type = deviceTypes.defined.get(engine.devices.summary(deviceId)?.type ?? '')
      const fields = new Map(type?.telemetry.map((field) => [field.field, field]))
      const bodyOf = ({ metric, value, at }: Metric) => {
        const { unit = null, range = null } = fields.get(metric) ?? {}
        return { metric, type: typeOf(value), value, timestamp: toIso(at), unit, range }
      }
      return answer(200, { device_id: deviceId, data: metrics.map(bodyOf) })
    }),
    telemetryHistoryRoute(services),
  ]
}

/** Flattens objects into metrics. */
function typeOf(value: Json): (typeof METRIC_TYPES)[number] | null {
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string')
    return typeof value as 'number' | 'boolean' | 'string'
  return Array.isArray(value) ? 'array' : null
}
