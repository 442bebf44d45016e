// A rate limit per key: a burst of `count`, refilled evenly over each window. The algorithm is GCRA. It keeps one instant
// per key, the time at which everything taken is paid off.
//
// L1. An instant is at most one window ahead, so a key that took nothing for a window can be forgotten. Keys are in the map
//     of the current window or of the previous one. The older map is dropped as a whole, without sweeps or timers per key.
// L2. If there are too many keys, the older map is dropped early: some keys are forgotten too soon, but none is refused.
// L3. Requests that other nodes admitted, and work that took more than expected, may move an instant further ahead. While
//     there is such a debt, keys that still owe are kept when their map is dropped.
import { API_LIMITS } from '../limits.ts'

/** Tolerance for rounding, so that the last request of a window is not refused. */
const ROUNDING_MS = 1e-6

export class RateLimit {
  readonly name: string
  /** Value of the header `RateLimit-Policy`. */
  readonly policy: string
  /** Milliseconds after which one request is paid off. */
  readonly stepMs: number
  readonly #windowMs: number
  #recent = new Map<string, number>()
  #older = new Map<string, number>()
  #rotatedAt = 0
  #indebtedUntil = 0

  constructor(name: string, count: number, windowMs = 1_000) {
    this.name = name
    this.stepMs = windowMs / count
    this.#windowMs = windowMs
    this.policy = `"${name}";q=${count};w=${windowMs / 1000}`
  }

  /** If positive, the request is admitted and paid off after that many ms. If negative, it came that many ms too early. */
  take(key: string, now: number, count = 1): number {
    this.#rotate(now)
    const paidAt = Math.max(now, this.#paidAt(key)) + this.stepMs * count
    const aheadMs = paidAt - now
    if (aheadMs > this.#windowMs + ROUNDING_MS) return this.#windowMs - aheadMs
    this.#recent.set(key, paidAt)
    return aheadMs
  }

  refund(key: string, count = 1): void {
    this.#recent.set(key, this.#paidAt(key) - this.stepMs * count)
  }

  /** Takes `count` even if it exceeds the limit, because the work took more than was charged in advance. */
  owe(key: string, now: number, count: number): void {
    this.learn(key, Math.max(now, this.#paidAt(key)) + this.stepMs * count, now)
  }

  /** Other nodes took some, so everything is paid off at `paidAt` at the earliest. */
  learn(key: string, paidAt: number, now: number): void {
    if (paidAt <= Math.max(now, this.#paidAt(key))) return
    this.#recent.set(key, paidAt)
    if (paidAt > now + this.#windowMs) this.#indebtedUntil = Math.max(this.#indebtedUntil, paidAt)
  }

  /** Value of the header `RateLimit`: how many requests are left, and after how many seconds all will be available. */
  stateOf(aheadMs: number): string {
    const left = aheadMs < 0 ? 0 : Math.floor((this.#windowMs - aheadMs + ROUNDING_MS) / this.stepMs)
    return `"${this.name}";r=${left};t=${Math.ceil(this.#windowMs / 1000)}`
  }

  #paidAt(key: string): number {
    return this.#recent.get(key) ?? this.#older.get(key) ?? 0
  }

  // by L1 and L2
  #rotate(now: number): void {
    const ageMs = now - this.#rotatedAt
    if (ageMs < this.#windowMs && this.#recent.size < API_LIMITS.rateKeysMax) return
    const isLong = ageMs >= 2 * this.#windowMs
    const debts = ageMs < this.#windowMs ? new Map<string, number>() : this.#debts(now, isLong)
    this.#older = isLong ? new Map() : this.#recent
    this.#recent = debts
    this.#rotatedAt = now
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
