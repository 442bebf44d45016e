// Limits how often a network may try an e-mail, over all nodes. A correct password costs no attempt, nor does one that
// nobody had the time to check.

import type { Clock } from '../../engine/ports/clock.ts'
import { API_LIMITS } from '../limits.ts'
import { RateLimit } from '../rates/rate-limit.ts'
import type { RateShares } from '../rates/rate-shares.ts'
import { type Refusal, refused } from '../refusal.ts'

const WINDOW_MS = 60_000

export class LoginLimiter {
  readonly #clock: Pick<Clock, 'ticks'>
  readonly #shares: RateShares | undefined
  readonly #limit = new RateLimit('login', API_LIMITS.loginsPerMinuteMax, WINDOW_MS)

  constructor(clock: Pick<Clock, 'ticks'>, shares?: RateShares) {
    this.#clock = clock
    this.#shares = shares
  }

  /** Returns undefined if the attempt is allowed. */
  refuse(key: string): Refusal | undefined {
    const aheadMs = this.#limit.take(key, this.#clock.ticks())
    if (aheadMs < 0) return tooMany(Math.max(1, Math.ceil(-aheadMs / 1000)))
    this.#shares?.tell(this.#limit, key, 1)
    return undefined
  }

  giveBack(key: string): void {
    this.#limit.giveBack(key)
    this.#shares?.tell(this.#limit, key, -1)
  }
}

function tooMany(waitSec: number): Refusal {
  return refused('RATE_LIMIT_EXCEEDED', {
    message: 'too many passwords were tried',
    retry_after_sec: waitSec,
  })
}
