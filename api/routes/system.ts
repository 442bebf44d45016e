// /system: the state of the service and its nodes.
import { ALL_PARTITIONS } from '../../engine/domain/partition.ts'
import type { NodeState } from '../../engine/ports/system.ts'
import { Millis, toIso } from '../../schemas/ids.ts'
import { getSystem } from '../../schemas/operations/system.ts'
import type { SystemBody } from '../../schemas/system.ts'
import { answer } from '../http/answer.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'

export function systemRoute({ engine, clock }: Services, version: string): Route {
  return route(getSystem, async () => {
    const { nodes, log } = await engine.system()
    const partitions = toPartitions(nodes)
    const lags = partitions.map(({ lag_ms }) => lag_ms).filter((lag) => lag !== null)
    const figures = nodes.flatMap((node) => node.figures ?? [])
    const total = (sample: string) => figures.reduce((sum, { samples }) => sum + (samples[sample] ?? 0), 0)
    const perSec = (rates: readonly number[]) =>
      Math.round(rates.reduce((sum, rate) => sum + rate, 0) * 10) / 10
    const inserts = figures.flatMap(({ insertP99Ms }) => insertP99Ms ?? [])
    const body: SystemBody = {
      at: toIso(clock.now()),
      version,
      nodes: nodes.map(toNode),
      partitions,
      log:
        log === undefined
          ? null
          : {
              bytes: log.bytes,
              bytes_max: log.bytesMax,
              oldest_at: log.oldestAt === undefined ? null : toIso(Millis(Math.floor(log.oldestAt / 1000))),
            },
      telemetry: {
        rows_waiting: total('fleet_clickhouse_rows_waiting'),
        // These rows wait in a shared place, and each node reports all of them.
        history_rows_waiting: Math.max(
          0,
          ...figures.map(({ samples }) => samples['fleet_history_rows_waiting'] ?? 0),
        ),
        insert_p99_ms: inserts.length === 0 ? null : Math.round(Math.max(...inserts) * 10) / 10,
      },
      sockets: {
        open: total('fleet_ws_connections'),
        held_bytes: total('fleet_ws_held_bytes'),
        dropped: total('fleet_ws_events_dropped_total'),
      },
      rates: {
        messages_per_sec: perSec(figures.map(({ messagesPerSec }) => messagesPerSec)),
        points_per_sec: perSec(figures.map(({ pointsPerSec }) => pointsPerSec)),
        lag_ms: lags.length === 0 ? null : Math.max(...lags),
      },
    }
    return answer(200, body, { 'cache-control': 'no-store' })
  })
}

function toNode({ address, figures }: NodeState): SystemBody['nodes'][number] {
  return {
    node: address,
    answers: figures !== undefined,
    leads: figures?.isLeading ?? false,
    version: figures?.version ?? null,
    started_at: figures === undefined ? null : toIso(figures.startedAt),
    partitions: figures?.partitions.length ?? 0,
    dependencies: (figures?.dependencies ?? []).map(({ name, ok, detail }) => ({ name, ok, detail })),
    metrics: figures?.samples ?? {},
  }
}

/** Lists every partition, including those without an owner and those whose owner did not answer. */
function toPartitions(nodes: readonly NodeState[]): SystemBody['partitions'] {
  const found = new Map(
    nodes.flatMap(({ address, figures }) =>
      (figures?.partitions ?? []).map(({ partition, lagMs }) => [
        partition,
        { owner: address, lag_ms: lagMs === undefined ? null : Math.round(lagMs) },
      ]),
    ),
  )
  return ALL_PARTITIONS.map((id) => ({ id, ...(found.get(id) ?? { owner: null, lag_ms: null }) }))
}
