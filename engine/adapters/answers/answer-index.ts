// An index in memory of the stored answers, with their owners, expiry and size, and of the requests in progress. All
// answers have the same lifetime, so the oldest expires first, and likewise for requests in progress.
//
// - A caller whose share is full makes room with their own oldest answer, never with that of another caller.
// K2. An answer is kept for at least `keptAnswerMsMin`. A caller whose share is full of younger ones is refused.
import { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { AnswerKey, AnswerLookup, BeginResult } from '../../ports/idempotency.ts'

/** Bounds on what may be kept, in total and per owner. */
export interface AnswerBounds {
  readonly bytesMax: number
  readonly ownerMax: number
  readonly ownerBytesMax: number
}

export const ANSWER_BOUNDS: AnswerBounds = {
  bytesMax: LIMITS.keptAnswersBytesMax,
  ownerMax: LIMITS.keptAnswersPerOwnerMax,
  ownerBytesMax: LIMITS.keptAnswersPerOwnerBytesMax,
}

/** An answer that expires by then is old enough to make room for a new one of its owner (K2). */
export const evictableUntil = (now: Millis): Millis =>
  Millis(now + LIMITS.idempotencyKeyMs - LIMITS.keptAnswerMsMin)

interface Entry {
  readonly owner: string
  readonly keptUntil: Millis
  readonly bytes: number
}

interface Share {
  /** The oldest is the first. */
  readonly ids: Set<string>
  bytes: number
}

const NOTHING: Share = { ids: new Set(), bytes: 0 }

export class AnswerIndex {
  readonly #entries = new Map<string, Entry>()
  readonly #shares = new Map<string, Share>()
  readonly #begun = new Map<string, Millis>()
  readonly #bounds: AnswerBounds
  #bytes = 0

  constructor(bounds: AnswerBounds = ANSWER_BOUNDS) {
    this.#bounds = bounds
  }

  has(id: string, now: Millis): boolean {
    const entry = this.#entries.get(id)
    return entry !== undefined && entry.keptUntil > now
  }

  /** Whether there is room for another answer of this owner. */
  hasRoomFor(owner: string, now: Millis): AnswerLookup {
    const expired = this.#expired(now)
    const bytes = expired.reduce((sum, id) => sum - (this.#entries.get(id)?.bytes ?? 0), this.#bytes)
    const isFull =
      this.#entries.size - expired.length >= LIMITS.keptAnswersMax || bytes >= this.#bounds.bytesMax
    return { kind: isFull || !this.#hasShare(owner, now) ? 'full' : 'none' }
  }

  begin(id: string, now: Millis): BeginResult {
    for (const [other, until] of this.#begun) {
      if (until > now) break
      this.#begun.delete(other)
    }
    if (this.#begun.has(id)) return { kind: 'running' }
    const until = Millis(now + LIMITS.answerBegunMs)
    this.#begun.set(id, until)
    return { kind: 'begun', until }
  }

  /** Ends a request in progress without storing an answer. */
  abandon(id: string, until: Millis): void {
    if (this.#begun.get(id) === until) this.#begun.delete(id)
  }

  /** Answers to remove when this one is stored: expired ones, and the oldest of its owner beyond their share. */
  evictedBy({ id, owner }: AnswerKey, now: Millis): readonly string[] {
    const evicted = this.#expired(now).filter((other) => other !== id)
    const share = this.#shares.get(owner) ?? NOTHING
    // An answer with the same id is replaced.
    let count = share.ids.size - (share.ids.has(id) ? 1 : 0)
    let bytes = share.bytes - (share.ids.has(id) ? (this.#entries.get(id)?.bytes ?? 0) : 0)
    for (const other of share.ids) {
      if (count < this.#bounds.ownerMax && bytes < this.#bounds.ownerBytesMax) break
      if (other === id) continue
      evicted.push(other)
      count--
      bytes -= this.#entries.get(other)?.bytes ?? 0
    }
    return evicted
  }

  add({ id, owner, keptUntil }: AnswerKey & { readonly keptUntil: Millis }, bytes: number): void {
    this.remove([id])
    this.#begun.delete(id)
    this.#entries.set(id, { owner, keptUntil, bytes })
    this.#bytes += bytes
    const share = this.#shares.get(owner) ?? { ids: new Set(), bytes: 0 }
    share.ids.add(id)
    share.bytes += bytes
    this.#shares.set(owner, share)
  }

  remove(ids: readonly string[]): void {
    for (const id of ids) {
      const entry = this.#entries.get(id)
      if (entry === undefined) continue
      this.#entries.delete(id)
      this.#bytes -= entry.bytes
      const share = this.#shares.get(entry.owner)
      share?.ids.delete(id)
      if (share === undefined) continue
      share.bytes -= entry.bytes
      if (share.ids.size === 0) this.#shares.delete(entry.owner)
    }
  }

  #expired(now: Millis): string[] {
    const expired: string[] = []
    for (const [id, { keptUntil }] of this.#entries) {
      if (keptUntil > now) break
      expired.push(id)
    }
    return expired
  }

  #hasShare(owner: string, now: Millis): boolean {
    const { ids, bytes } = this.#shares.get(owner) ?? NOTHING
    if (ids.size < this.#bounds.ownerMax && bytes < this.#bounds.ownerBytesMax) return true
    const [oldest = ''] = ids
    return (this.#entries.get(oldest)?.keptUntil ?? 0) <= evictableUntil(now)
  }
}
