// Answers kept for callers who repeat a request under its idempotency key. An answer may hold a secret, such as the token
// of a new device, so it arrives sealed and the keeper cannot read it. Nodes that share the answers also share which
// requests are in progress. Every method may reject with a `STORE_UNAVAILABLE` fault.
import type { Millis } from '../../schemas/ids.ts'

export interface AnswerKey {
  /** Derived from the user and their key, neither of which can be recovered from it. */
  readonly id: string
  /** Derived from the user, who cannot be recovered from it. Each owner has a share of the space. */
  readonly owner: string
}

export interface StoredAnswer extends AnswerKey {
  /** Fingerprint of the request that was answered. */
  readonly fingerprint: string
  readonly keptUntil: Millis
  readonly sealed: Uint8Array
}

export type AnswerLookup =
  | { readonly kind: 'kept'; readonly answer: StoredAnswer }
  | { readonly kind: 'none' }
  /** There is no answer, and no space to keep one: the limit for all users or for this one is reached. */
  | { readonly kind: 'full' }

export type BeginResult =
  | Exclude<AnswerLookup, { readonly kind: 'none' }>
  /** The caller may make the answer. Nobody else can begin it before `put`, `abandon` or this time. */
  | { readonly kind: 'begun'; readonly until: Millis }
  /** Another caller is already working on this request. */
  | { readonly kind: 'running' }

export interface IdempotencyStore {
  /** Does not find answers that have expired. */
  find(key: AnswerKey, now: Millis): Promise<AnswerLookup>
  begin(key: AnswerKey, now: Millis): Promise<BeginResult>
  /** Durable when resolved. Also removes expired answers, and the owner's oldest ones beyond their share. */
  put(answer: StoredAnswer, now: Millis): Promise<void>
  /** Releases the request begun with this `until`. Never rejects: a request that cannot be released now expires at that
   *  time. */
  abandon(id: string, until: Millis): Promise<void>
}
