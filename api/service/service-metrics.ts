// Metrics of the API, registered next to those of the engine.
import { readdir } from 'node:fs/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client'
import { readGauge, readTotals } from '../../engine/index.ts'
import type { FinishedRequest } from '../http/app-options.ts'
import type { DownloadCounts } from '../http/downloads.ts'
import type { SocketCounts } from '../ws/sockets.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Sampling interval of the event loop. Sampling every 10 ms was most of the CPU time of a service without devices. */
const EVENT_LOOP_EVERY_MS = 50
/** Default metrics that walk over every socket. With 10 000 devices each scrape held up all of them for 60 ms. */
const WALKING = ['nodejs_active_handles', 'nodejs_active_requests', 'nodejs_active_resources']
const OPEN_FILES = 'process_open_fds'

export function watchService({ registry }: { readonly registry: Registry }): {
  readonly requestDone: (done: FinishedRequest) => void
  readonly watchSockets: (counts: () => SocketCounts) => void
  readonly watchDownloads: (counts: () => DownloadCounts) => void
} {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_EVERY_MS })
  for (const name of WALKING) for (const each of [name, `${name}_total`]) registry.removeSingleMetric(each)
  countOpenFiles(registry)
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

/** Replaces the default metric, which holds up the event loop. */
function countOpenFiles(registry: Registry): void {
  registry.removeSingleMetric(OPEN_FILES)
  new Gauge({
    name: OPEN_FILES,
    help: 'Number of open file descriptors.',
    registers: [registry],
    async collect() {
      // The folder exists on Linux only. One of its entries is for reading it.
      const files = await readdir('/proc/self/fd').catch(() => undefined)
      if (files === undefined) this.remove()
      else this.set(files.length - 1)
    },
  })
}
