// The public surface of the engine: what the API layer may use. Everything else is inside.
import { randomUUID } from 'node:crypto'
import type { Ports } from './ports/engine.ts'
import type { Repairs } from './ports/repair.ts'
import type { EngineSettings } from './runtime/compose-engine.ts'
import { LocalEngine } from './runtime/engine.ts'
import type { EngineHost } from './runtime/host.ts'
import { TelemetryRepairs, type TelemetryRepairsOptions } from './runtime/repair/telemetry-repairs.ts'
import { piscinaThread } from './runtime/runner/thread.ts'
import { realSchedule } from './runtime/schedule.ts'

export { partitionOf } from './domain/partition.ts'
export type { DeviceView } from './ports/device-view.ts'
export type {
  Authorship,
  Engine,
  ExportRequest,
  Metric,
  Ports,
  RequestOutcome,
  Snapshot,
} from './ports/engine.ts'
export type { Feed, FeedEvent } from './ports/feed.ts'
export { collectLessOften, exposedGc, REST_AFTER_LOAD_MS } from './runtime/garbage.ts'
export { realSchedule } from './runtime/schedule.ts'
export { readGauge, readTotals } from './runtime/scraped.ts'

/** The clock and the ports are closed by whoever opened them, afterwards. */
export function createRepairs(
  ports: TelemetryRepairsOptions['ports'],
  host: Pick<EngineHost, 'warn'>,
): Repairs {
  const real = { schedule: realSchedule, openThread: piscinaThread, newId: randomUUID }
  return new TelemetryRepairs({ ports, host: { ...host, ...real } })
}

/** An engine with real time and real threads. Devices are acknowledged from here on. */
export async function createEngine(
  ports: Ports,
  settings: EngineSettings,
  host: Pick<EngineHost, 'admit' | 'issueToken' | 'warn' | 'fatal'>,
): Promise<LocalEngine> {
  const engine = new LocalEngine(ports, settings, {
    ...host,
    schedule: realSchedule,
    openThread: piscinaThread,
    newId: randomUUID,
  })
  await engine.open()
  return engine
}
