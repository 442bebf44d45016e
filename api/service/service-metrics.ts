// Metrics of the API, registered next to those of the engine.
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client'
import type { FinishedRequest } from '../http/app-options.ts'
import type { DownloadCounts } from '../http/downloads.ts'
import type { SocketCounts } from '../ws/sockets.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** How often the event loop is looked at. Looking every 10 ms was most of what a service does without devices. */
const EVENT_LOOP_EVERY_MS = 50

export function watchService({ registry }: { readonly registry: Registry }): {
  readonly requestDone: (done: FinishedRequest) => void
  readonly watchSockets: (counts: () => SocketCounts) => void
  readonly watchDownloads: (counts: () => DownloadCounts) => void
} {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_EVERY_MS })
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of REST requests by route pattern',
    labelNames: ['method', 'route', 'status_class'],
    buckets: SECONDS,
    registers: [registry],
  })
  const limited = new Counter({
    name: 'fleet_rate_limited_total',
    help: 'Requests refused by a rate limit',
    labelNames: ['scope'],
    registers: [registry],
  })
  return {
    requestDone({ method, route, status, seconds }) {
      duration.observe({ method, route, status_class: `${Math.floor(status / 100)}xx` }, seconds)
      if (status === 429) limited.inc({ scope: 'http' })
    },
    watchDownloads(counts) {
      gauge(registry, 'fleet_ota_downloads_active', 'Downloads of firmware under way', () => counts().active)
      const bytes: Counter = new Counter({
        name: 'fleet_ota_download_bytes_total',
        help: 'Bytes of firmware that were sent',
        registers: [registry],
        collect() {
          bytes.reset()
          bytes.inc(counts().bytes)
        },
      })
      const refused: Counter = new Counter({
        name: 'fleet_ota_downloads_refused_total',
        help: 'Downloads of firmware that were refused',
        labelNames: ['reason'],
        registers: [registry],
        collect() {
          refused.reset()
          for (const [reason, times] of Object.entries(counts().refused)) refused.inc({ reason }, times)
        },
      })
    },
    watchSockets(counts) {
      gauge(registry, 'fleet_ws_connections', 'Open /ws connections', () => counts().connections)
      gauge(registry, 'fleet_ws_subscriptions', 'Active /ws subscriptions', () => counts().subscriptions)
      const dropped: Counter = new Counter({
        name: 'fleet_ws_events_dropped_total',
        help: 'Events of /ws left out because nothing more could be held for a slow client',
        registers: [registry],
        collect() {
          dropped.reset()
          dropped.inc(counts().dropped)
        },
      })
      gauge(registry, 'fleet_ws_held_bytes', 'Bytes buffered for slow /ws clients', () => counts().heldBytes)
    },
  }
}

function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  const made: Gauge = new Gauge({ name, help, registers: [registry], collect: () => made.set(read()) })
}
