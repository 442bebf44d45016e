// How often a caller may do something: so many times at once as in a window, and as many again each window, evenly
// (GCRA: all that is kept of a caller is the instant at which everything taken is paid off).
//
// L1. An instant is at most a window ahead, so whoever has taken nothing for a window is forgotten: keys are in the map
//     of the last window or in the one before, and the older map is dropped whole. Nothing is swept, nothing has a timer.
// L2. Beyond the bound on keys the maps turn early: some are forgotten too soon, nobody is refused for it.
// L3. What other nodes let through may put an instant further ahead. While there is such a debt, the older map is looked
//     through for what is not paid off before it goes.
import { API_LIMITS } from '../limits.ts'

/** Sums of fractions must not cost the last one of a window. */
const ROUNDING_MS = 1e-6

export class RateLimit {
  readonly name: string
  /** As in `RateLimit-Policy`. */
  readonly policy: string
  /** In which one is paid off. */
  readonly stepMs: number
  readonly #windowMs: number
  #recent = new Map<string, number>()
  #older = new Map<string, number>()
  #turnedAt = 0
  #indebtedUntil = 0

  constructor(name: string, count: number, windowMs = 1_000) {
    this.name = name
    this.stepMs = windowMs / count
    this.#windowMs = windowMs
    this.policy = `"${name}";q=${count};w=${windowMs / 1000}`
  }

  /** Milliseconds until all of it is paid off, above 0; or below 0, and not taken, those that it came too early. */
  take(key: string, now: number): number {
    this.#turn(now)
    const paidAt = Math.max(now, this.#paidAt(key)) + this.stepMs
    const aheadMs = paidAt - now
    if (aheadMs > this.#windowMs + ROUNDING_MS) return this.#windowMs - aheadMs
    this.#recent.set(key, paidAt)
    return aheadMs
  }

  giveBack(key: string): void {
    this.#recent.set(key, this.#paidAt(key) - this.stepMs)
  }

  /** That all of it is paid off no sooner. */
  learn(key: string, paidAt: number, now: number): void {
    if (paidAt <= Math.max(now, this.#paidAt(key))) return
    this.#recent.set(key, paidAt)
    if (paidAt > now + this.#windowMs) this.#indebtedUntil = Math.max(this.#indebtedUntil, paidAt)
  }

  /** As in `RateLimit`, of what `take` said: how many are left, and the seconds until all of them are. */
  stateOf(aheadMs: number): string {
    const left = aheadMs < 0 ? 0 : Math.floor((this.#windowMs - aheadMs + ROUNDING_MS) / this.stepMs)
    return `"${this.name}";r=${left};t=${Math.ceil(this.#windowMs / 1000)}`
  }

  #paidAt(key: string): number {
    return this.#recent.get(key) ?? this.#older.get(key) ?? 0
  }

  // by L1 and L2
  #turn(now: number): void {
    const ageMs = now - this.#turnedAt
    if (ageMs < this.#windowMs && this.#recent.size < API_LIMITS.rateKeysMax) return
    const isLong = ageMs >= 2 * this.#windowMs
    const debts = ageMs < this.#windowMs ? new Map<string, number>() : this.#debts(now, isLong)
    this.#older = isLong ? new Map() : this.#recent
    this.#recent = debts
    this.#turnedAt = now
  }

  // by L3
  #debts(now: number, isLong: boolean): Map<string, number> {
    const debts = new Map<string, number>()
    if (now >= this.#indebtedUntil) return debts
    for (const [key, paidAt] of this.#older)
      if (paidAt > now && !this.#recent.has(key)) debts.set(key, paidAt)
    if (isLong) for (const [key, paidAt] of this.#recent) if (paidAt > now) debts.set(key, paidAt)
    return debts
  }
}
