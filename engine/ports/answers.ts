// Answers kept for callers who repeat a request under its idempotency key. They may hold secrets, such as the token of
// a new device, so they come sealed: whoever keeps them cannot read them. Nodes that share them share who is at which
// request, too. Every method may reject with a `STORE_UNAVAILABLE` fault.
import type { Millis } from '../../schemas/ids.ts'

export interface AnswerKey {
  /** Stands for one user's key; neither can be told from it. */
  readonly id: string
  /** Stands for the user, who cannot be told from it. Each has a share of the room. */
  readonly owner: string
}

export interface KeptAnswer extends AnswerKey {
  /** Fingerprint of the request that was answered. */
  readonly fingerprint: string
  readonly keptUntil: Millis
  readonly sealed: Uint8Array
}

export type FoundAnswer =
  | { readonly kind: 'kept'; readonly answer: KeptAnswer }
  | { readonly kind: 'none' }
  /** None, and there is no room for one: as many are kept as may be, of all users or of this one. */
  | { readonly kind: 'full' }

export type BegunAnswer =
  | Exclude<FoundAnswer, { readonly kind: 'none' }>
  /** The caller's to make: nobody else begins it until `put`, `giveUp`, or this time. */
  | { readonly kind: 'begun'; readonly until: Millis }
  /** Somebody else is at it. */
  | { readonly kind: 'running' }

export interface KeptAnswers {
  /** One whose time is over is not found. */
  find(key: AnswerKey, now: Millis): Promise<FoundAnswer>
  begin(key: AnswerKey, now: Millis): Promise<BegunAnswer>
  /** Durable when resolved. Also removes answers whose time is over, and the owner's oldest beyond their share. */
  put(answer: KeptAnswer, now: Millis): Promise<void>
  /** Releases what was begun with this `until`. Never rejects: what cannot be released now ends at that time. */
  giveUp(id: string, until: Millis): Promise<void>
}
