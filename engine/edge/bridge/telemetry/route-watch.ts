// Detects that a route has become silent, and decides what to try.

/** The action against a silence: to subscribe again or to open a new socket. */
export type Remedy = 'subscribe' | 'reopen'

const SUBSCRIBES = 3
const LATER_MS = 300_000

export class RouteWatch {
  readonly #timeoutMs: number
  #silentSince: number
  #nextAt: number
  #tries = 0
  #isStale = false

  /** A timeout of zero means that the route may be silent. */
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

  /** Returns true if this message ended a silence. */
  heard(now: number): boolean {
    this.#silentSince = now
    this.#tries = 0
    if (this.#timeoutMs !== 0) this.#nextAt = now + this.#timeoutMs
    const wasStale = this.#isStale
    this.#isStale = false
    return wasStale
  }

  /** Returns the next action if one is due. `began` is true when a silence is first detected. */
  check(now: number): { readonly remedy: Remedy; readonly began: boolean } | undefined {
    if (now < this.#nextAt) return undefined
    const began = !this.#isStale
    this.#isStale = true
    this.#tries++
    this.#nextAt = now + (this.#tries > SUBSCRIBES ? LATER_MS : this.#timeoutMs)
    return { remedy: this.#tries === SUBSCRIBES + 1 ? 'reopen' : 'subscribe', began }
  }
}
