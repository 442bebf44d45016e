// Metrics of the API, registered next to those of the engine.
import { Counter, collectDefaultMetrics, Histogram, type Registry } from 'prom-client'
import { readGauge, readTotals } from '../../engine/index.ts'
import type { FinishedRequest } from '../http/app-options.ts'
import type { DownloadCounts } from '../http/downloads.ts'
import type { SocketCounts } from '../ws/sockets.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Sampling interval of the event loop. Sampling every 10 ms was most of the CPU time of a service without devices. */
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
  const gauge = (name: string, help: string, read: () => number) =>
    readGauge(registry, { name, help }, (made) => made.set(read()))
  return {
    requestDone({ method, route, status, seconds }) {
      duration.observe({ method, route, status_class: `${Math.floor(status / 100)}xx` }, seconds)
      if (status === 429) limited.inc({ scope: 'http' })
    },
    watchDownloads(counts) {
      gauge('fleet_ota_downloads_active', 'Downloads of firmware under way', () => counts().active)
      readTotals(
        registry,
        { name: 'fleet_ota_download_bytes_total', help: 'Bytes of firmware that were sent' },
        () => ({ all: counts().bytes }),
      )
      readTotals(
        registry,
        {
          name: 'fleet_ota_downloads_refused_total',
          help: 'Downloads of firmware that were refused',
          label: 'reason',
        },
        () => counts().refused,
      )
    },
    watchSockets(counts) {
      gauge('fleet_ws_connections', 'Open /ws connections', () => counts().connections)
      gauge('fleet_ws_subscriptions', 'Active /ws subscriptions', () => counts().subscriptions)
      readTotals(
        registry,
        {
          name: 'fleet_ws_events_dropped_total',
          help: 'Events of /ws left out because nothing more could be held for a slow client',
        },
        () => ({ all: counts().dropped }),
      )
      gauge('fleet_ws_held_bytes', 'Bytes buffered for slow /ws clients', () => counts().heldBytes)
    },
  }
}
