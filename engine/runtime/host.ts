import type { Admission, ConnectAttempt } from '../ports/broker.ts'
import type { TokenAnswer, TokenRequest } from '../ports/device-tokens.ts'
import type { Schedule } from '../ports/schedule.ts'
import type { NodeFigures } from '../ports/system.ts'
import type { ShardThread } from './runner/thread.ts'
import type { ShardSettings } from './shard/protocol.ts'
import type { Warn } from './signals.ts'

/** The process around an engine: what it gives the engine beside its ports. */
export interface EngineHost {
  readonly schedule: Schedule
  readonly openThread: (settings: ShardSettings) => ShardThread
  /** Decides who may connect. The API layer knows the tokens. */
  readonly admit: (attempt: ConnectAttempt) => Promise<Admission>
  /** Issues the token that a connected device asks for. Undefined if devices cannot ask this engine for tokens. */
  readonly issueToken?: (wish: TokenRequest) => Promise<TokenAnswer | undefined>
  /** Unique even across restarts. */
  readonly newId: () => string
  /** A number from 0 to 1 that spreads retries. Left out: a random one. */
  readonly dice?: () => number
  /** Tells the operator about a problem that the engine handles itself. */
  readonly warn: Warn
  /** Ends the process, because only a new one can go on. Nothing that was promised is lost. */
  readonly fatal: (error: unknown) => void
}

/** The host as the engine's parts see it. `figures`: this node's figures, available once the engine is put together. */
export interface ComposingHost extends EngineHost {
  readonly figures: () => Promise<NodeFigures>
}
