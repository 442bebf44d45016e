// What each step of a batch works on.
import type { Millis } from '../../../schemas/ids.ts'
import type { HistoryColumns } from '../../domain/history/columns.ts'
import type { Columns } from '../../domain/telemetry/columns.ts'
import type { Wants } from '../../ports/feed.ts'
import type { Actor, Actors } from './actor.ts'
import type { MutableCounts } from './counts.ts'
import type { Decisions } from './decisions.ts'
import type { OpenProposal } from './proposal.ts'
import type { ShardSettings } from './protocol.ts'
import type { ShardAlerts } from './shard-alerts.ts'

export interface Batch {
  readonly shard: ShardSettings
  readonly actors: Actors
  readonly columns: Columns
  readonly history: HistoryColumns
  readonly open: OpenProposal
  readonly counts: MutableCounts
  readonly horizon: Millis
  readonly wants: Wants
  readonly decisions: Decisions
  readonly alerts: ShardAlerts
  /** Computes the actor's deadline again after its vitals changed. */
  readonly reschedule: (actor: Actor) => void
  /** Sends the device again what a previous owner may not have sent. */
  readonly resend: (actor: Actor) => void
}
