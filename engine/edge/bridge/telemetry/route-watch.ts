// Notices that a route has gone quiet, and says what to try.

/** What to do about a silence: subscribe again, or open the socket anew. */
export type Remedy = 'subscribe' | 'reopen'

const SUBSCRIBES = 3
const LATER_MS = 300_000

export class RouteWatch {
  readonly #timeoutMs: number
  #silentSince: number
  #nextAt: number
  #tries = 0
  #isStale = false

  /** Zero as the timeout means that silence is fine. */
  constructor(timeoutMs: number, now: number) {
    this.#timeoutMs = timeoutMs
    this.#silentSince = now
    this.#nextAt = timeoutMs === 0 ? Number.POSITIVE_INFINITY : now + timeoutMs
  }

  get isStale(): boolean {
    return this.#isStale
  }

  get silentSince(): number {
    return this.#silentSince
  }

  /** When to call `check` next. Infinite for a route without a timeout. */
  get nextAt(): number {
    return this.#nextAt
  }

  /** Returns true if a silence ended. */
  heard(now: number): boolean {
    this.#silentSince = now
    this.#tries = 0
    if (this.#timeoutMs !== 0) this.#nextAt = now + this.#timeoutMs
    const wasStale = this.#isStale
    this.#isStale = false
    return wasStale
  }

  /** `began` is true at the first notice of a silence. */
  check(now: number): { readonly remedy: Remedy; readonly began: boolean } | undefined {
    if (now < this.#nextAt) return undefined
    const began = !this.#isStale
    this.#isStale = true
    this.#tries++
    this.#nextAt = now + (this.#tries > SUBSCRIBES ? LATER_MS : this.#timeoutMs)
    return { remedy: this.#tries === SUBSCRIBES + 1 ? 'reopen' : 'subscribe', began }
  }
}
