// Answers kept for callers who repeat a request under its idempotency key. They may hold secrets, such as the token of
// a new device, so they come sealed: whoever keeps them cannot read them.
import type { Millis } from '../../schemas/ids.ts'

export interface KeptAnswer {
  /** Stands for one user's key; neither can be told from it. */
  readonly id: string
  /** Of the request that was answered. */
  readonly fingerprint: string
  readonly keptUntil: Millis
  readonly sealed: Uint8Array
}

export interface KeptAnswers {
  /** Undefined, too, for one whose time is over. */
  get(id: string, now: Millis): KeptAnswer | undefined
  /** False while as many are kept as may be: nothing is dropped before its time. */
  hasRoom(now: Millis): boolean
  /** Durable when resolved. Those whose time is over go. */
  put(answer: KeptAnswer, now: Millis): Promise<void>
}
