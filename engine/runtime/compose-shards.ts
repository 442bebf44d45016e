// The shards of this node. Each has an assignment, which opens a runner for the partitions it is given.
import type { DeviceId, Micros, Millis } from '../../schemas/ids.ts'
import type { HeartbeatTimeouts } from '../domain/device/heartbeat.ts'
import { partitionOf } from '../domain/partition.ts'
import type { Ports } from '../ports/engine.ts'
import { Fault } from '../ports/fault.ts'
import type { Schedule } from '../ports/schedule.ts'
import type { Claim } from '../ports/store.ts'
import type { EngineHost } from './host.ts'
import type { Ingest } from './ingress/ingest.ts'
import type { Watermark } from './ingress/watermark.ts'
import type { Metrics } from './metrics.ts'
import type { Performer } from './performer.ts'
import type { Inserter } from './rows/inserter.ts'
import type { Settler } from './rows/settler.ts'
import { Assignment } from './runner/assignment.ts'
import { Runner } from './runner/runner.ts'
import type { ShardSignal, Signal } from './signals.ts'

interface ShardsPorts
  extends Pick<Ports, 'clock' | 'log' | 'store'>,
    Pick<EngineHost, 'openThread' | 'fatal'> {
  readonly schedule: Schedule
  readonly settings: HeartbeatTimeouts
  /** Unique to this start of the process. */
  readonly incarnation: string
  readonly bootAt: Micros
  readonly resumedAt: Millis | undefined
  readonly ingest: Pick<Ingest, 'now'>
  readonly watermark: Watermark
  readonly settler: Settler
  readonly metrics: Metrics
  readonly performer: Performer
  /** False where one process has all partitions: nobody claims them. */
  readonly isClaimed: boolean
  /** Whether this node may act under the claim now. There is no claim where one process has all partitions. */
  readonly mayAct: (claim: Claim | undefined) => boolean
  readonly signal: (signal: Signal) => void
}

/** Returns one assignment per inserter, in the same order. */
export function composeShards(inserters: readonly Inserter[], ports: ShardsPorts): readonly Assignment[] {
  const { clock, log, store, schedule, openThread, settings, incarnation, bootAt, isClaimed, mayAct } = ports
  const { ingest, watermark, settler, metrics, performer, signal, fatal } = ports
  return inserters.map((inserter, shard) => {
    const report = (about: ShardSignal) => signal({ ...about, shard })
    let runners = 0
    const open = (claims: readonly Claim[], fenced: () => void) =>
      new Runner(
        {
          partitions: claims.map(({ partition }) => partition),
          claims: isClaimed ? claims : [],
          ...{ heartbeatTimeoutMs: settings.heartbeatTimeoutMs, typeHeartbeatMs: settings.typeHeartbeatMs },
          bootAt,
          resumedAt: ports.resumedAt,
          incarnation: `${incarnation}-${shard}-${runners++}`,
        },
        { clock, schedule, log, store, inserter, openThread },
        {
          perform: (proposal, holding, heldBack) => {
            metrics.ota.jobsMoved(proposal.feed)
            metrics.alerts.moved(proposal.feed)
            performer.perform(proposal, (id: DeviceId) => {
              const may = !isClaimed || mayAct(holding.claimOf(partitionOf(id)))
              if (!may) heldBack(id)
              return may
            })
          },
          fatal: (error) => {
            if (!(error instanceof Fault && error.code === 'STORE_FENCED')) return fatal(error)
            report({ kind: 'fenced', error })
            fenced()
          },
          horizon: () => settler.horizon(),
          now: () => ingest.now(),
          watermark: (held) => watermark.upTo(held),
          signal: report,
        },
      )
    const claim = async (claims: readonly Claim[]) => {
      if (isClaimed) await store.claim(claims)
      settler.readHorizon()
    }
    return new Assignment({ store: { claim }, clock, schedule, open, signal: report })
  })
}
