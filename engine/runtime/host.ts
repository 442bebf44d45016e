import type { Admission, ConnectAttempt } from '../ports/broker.ts'
import type { TokenAnswer, TokenWish } from '../ports/device-tokens.ts'
import type { Schedule } from '../ports/schedule.ts'
import type { NodeFigures } from '../ports/system.ts'
import type { ShardThread } from './runner/thread.ts'
import type { ShardSettings } from './shard/protocol.ts'
import type { Warn } from './signals.ts'

/** The process around an engine: what it gives the engine beside its ports. */
export interface EngineHost {
  readonly schedule: Schedule
  readonly openThread: (settings: ShardSettings) => ShardThread
  /** Decides who may connect. Tokens are the API layer's business. */
  readonly admit: (attempt: ConnectAttempt) => Promise<Admission>
  /** Makes the token that a connected device asks for. Undefined if devices of this engine cannot ask. */
  readonly issueToken?: (wish: TokenWish) => Promise<TokenAnswer | undefined>
  /** Unique, also over restarts. */
  readonly newId: () => string
  /** A number from 0 to 1 that spreads retries. Left out: a random one. */
  readonly dice?: () => number
  /** Tells the operator that something is wrong and is being dealt with. */
  readonly warn: Warn
  /** Ends the process, because only another one can go on. Nothing that was promised is lost. */
  readonly fatal: (error: unknown) => void
}

/** The host of the parts of an engine. `figures`: what the engine says of itself, once it is put together. */
export interface ComposingHost extends EngineHost {
  readonly figures: () => Promise<NodeFigures>
}
