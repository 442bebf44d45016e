// How often one address may try one e-mail: a bucket of attempts that refills evenly. A right password costs nothing.
import { LIMITS } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { type Refusal, refused } from '../http/answer.ts'

interface Attempts {
  left: number
  readonly at: number
}

const REFILL_MS = 60_000 / LIMITS.loginsPerMinuteMax

export class LoginLimiter {
  readonly #clock: Clock
  /** Oldest attempt first. */
  readonly #keys = new Map<string, Attempts>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined if the attempt may be made. */
  refuse(key: string): Refusal | undefined {
    const now = this.#clock.ticks()
    const known = this.#keys.get(key)
    const left = known === undefined ? LIMITS.loginsPerMinuteMax : refilled(known, now)
    if (left < 1) return tooMany(Math.max(1, Math.ceil(((1 - left) * REFILL_MS) / 1000)))
    this.#keys.delete(key)
    this.#keys.set(key, { left: left - 1, at: now })
    this.#evict()
    return undefined
  }

  giveBack(key: string): void {
    const known = this.#keys.get(key)
    if (known !== undefined) known.left = Math.min(LIMITS.loginsPerMinuteMax, known.left + 1)
  }

  #evict(): void {
    for (const key of this.#keys.keys()) {
      if (this.#keys.size <= LIMITS.loginKeysMax) return
      this.#keys.delete(key)
    }
  }
}

function refilled({ left, at }: Attempts, now: number): number {
  return Math.min(LIMITS.loginsPerMinuteMax, left + (now - at) / REFILL_MS)
}

function tooMany(waitSec: number): Refusal {
  return refused('RATE_LIMIT_EXCEEDED', {
    message: 'too many passwords were tried',
    retry_after_sec: waitSec,
  })
}
