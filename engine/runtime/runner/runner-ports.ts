// What a runner needs from its surroundings, and what it reports to them.
import type { DeviceId, Millis, Partition } from '../../../schemas/ids.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Claim, DeadLetters, LateHours, Records } from '../../ports/store.ts'
import type { Inserter } from '../rows/inserter.ts'
import type { Proposal, ShardSettings } from '../shard/protocol.ts'
import type { RunnerSignal } from '../signals.ts'
import type { HeldPartitions } from './held-partitions.ts'
import type { ShardThread } from './thread.ts'

/** Settings for all incarnations of the shard. `incarnation` is a prefix that no other runner has. */
export type RunnerSettings = Omit<ShardSettings, 'progress'> & {
  /** Claims on its partitions. Empty in the embedded profile, where nobody else can write (R2). */
  readonly claims: readonly Claim[]
}

export interface RunnerPorts {
  readonly clock: Clock
  readonly schedule: Schedule
  readonly log: Log
  readonly store: Records & Pick<DeadLetters, 'deadLetters'> & Pick<LateHours, 'lateHoursOf' | 'clearLate'>
  readonly inserter: Inserter
  readonly openThread: (settings: ShardSettings) => ShardThread
}

export interface RunnerHost {
  /** Called after the save, with what the runner holds by then (runner H3). Calls `heldBack` for devices for which
   *  something was held back, because this node may not own them any more. Messages may be sent after the return. */
  perform(proposal: Proposal, holding: HeldPartitions, heldBack: (id: DeviceId) => void): void
  /** Called when the runner cannot go on in this incarnation of the process. */
  fatal(error: unknown): void
  /** Telemetry before this instant has rollups, or will have soon. */
  horizon(): Millis
  /** The time that messages get now. */
  now(): Millis
  /** Everything that devices of these partitions sent before this time is in the log. Undefined while that is not known,
   *  and then silence proves nothing. */
  watermark(partitions: readonly Partition[]): Millis | undefined
  signal(signal: RunnerSignal): void
}
