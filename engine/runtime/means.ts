import type { Admission, ConnectAttempt } from '../ports/broker.ts'
import type { Schedule } from '../ports/schedule.ts'
import type { ShardThread } from './runner/thread.ts'
import type { ShardSettings } from './shard/protocol.ts'

/** What the engine is given beside its ports. */
export interface EngineMeans {
  readonly schedule: Schedule
  readonly openThread: (settings: ShardSettings) => ShardThread
  /** Who may connect: the tokens are the API layer's business. */
  readonly admit: (attempt: ConnectAttempt) => Promise<Admission>
  /** Unique, also over restarts. */
  readonly newId: () => string
  /** For the operator: something is wrong and is being dealt with. */
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
  /** The process should end: only another one can go on. Nothing that was promised is lost. */
  readonly fatal: (error: unknown) => void
}
