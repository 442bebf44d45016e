// How often a caller may ask: as many requests at once as in a second, and as many again each second, evenly (GCRA:
// all that is kept of a caller is the instant at which everything taken is paid off).
//
// L1. An instant is at most a second ahead, so whoever has not asked for a second is forgotten: keys are in the map of
//     the last second or in the one before, and the older map is dropped whole. Nothing is swept, nothing has a timer.
// L2. Beyond the bound on keys the maps turn early: some are forgotten too soon, nobody is refused for it.
import { LIMITS } from '../../engine/limits.ts'

const WINDOW_MS = 1_000
/** Sums of fractions must not cost the last request of a second. */
const ROUNDING_MS = 1e-6

export class RateLimit {
  /** As in `RateLimit-Policy`. */
  readonly policy: string
  readonly #name: string
  readonly #stepMs: number
  #recent = new Map<string, number>()
  #older = new Map<string, number>()
  #turnedAt = 0

  constructor(name: string, perSec: number) {
    this.#name = name
    this.#stepMs = WINDOW_MS / perSec
    this.policy = `"${name}";q=${perSec};w=${WINDOW_MS / 1000}`
  }

  /** Milliseconds until all of it is paid off, above 0; or below 0, and not taken, those that it came too early. */
  take(key: string, now: number): number {
    this.#turn(now)
    const paidAt = Math.max(now, this.#recent.get(key) ?? this.#older.get(key) ?? now) + this.#stepMs
    const aheadMs = paidAt - now
    if (aheadMs > WINDOW_MS + ROUNDING_MS) return WINDOW_MS - aheadMs
    this.#recent.set(key, paidAt)
    return aheadMs
  }

  /** As in `RateLimit`, of what `take` said: how many are left, and the seconds until all of them are. */
  stateOf(aheadMs: number): string {
    const left = aheadMs < 0 ? 0 : Math.floor((WINDOW_MS - aheadMs + ROUNDING_MS) / this.#stepMs)
    return `"${this.#name}";r=${left};t=1`
  }

  // by L1 and L2
  #turn(now: number): void {
    if (now - this.#turnedAt < WINDOW_MS && this.#recent.size < LIMITS.rateKeysMax) return
    this.#older = now - this.#turnedAt < 2 * WINDOW_MS ? this.#recent : new Map()
    this.#recent = new Map()
    this.#turnedAt = now
  }
}
