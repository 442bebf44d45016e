// Limits how often passwords may be tried, across all nodes. Attempts with a correct password are not counted, and neither
// are those that could not be checked for lack of time.
//
// - A network may have a few passwords per second hashed, right or wrong, because each costs the service 16 ms of a core.
//   The caller leaves this out for programs of the machine itself.
// - A network may try an e-mail ten times a minute.
// - All networks together may try an e-mail a hundred times an hour, and then slowly. Networks from which the account was
//   entered before are exempt, so that nobody can lock out its owner.
import type { Clock } from '../../engine/ports/clock.ts'
import { API_LIMITS } from '../limits.ts'
import { RateLimit } from '../rates/rate-limit.ts'
import type { RateShares } from '../rates/rate-shares.ts'
import { type Refusal, refused } from '../refusal.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

export interface Attempt {
  /** The caller's network. */
  readonly from: string
  /** The account whose password is tried. */
  readonly account: string
  /** Whether the account has a login from this network, opened at any node and before any restart. */
  readonly isKnown?: boolean
}

export class LoginLimiter {
  readonly #clock: Pick<Clock, 'ticks'>
  readonly #shares: RateShares | undefined
  readonly #hashes = new RateLimit(
    'password',
    API_LIMITS.passwordsAtOnceMax,
    (API_LIMITS.passwordsAtOnceMax / API_LIMITS.passwordsPerSecMax) * 1_000,
  )
  readonly #attempts = new RateLimit('login', API_LIMITS.loginsPerMinuteMax, MINUTE_MS)
  readonly #account = new RateLimit('account', API_LIMITS.wrongPasswordsPerHourMax, HOUR_MS)
  /** Pairs of network and account with a successful login, the least recent first. */
  readonly #known = new Set<string>()
  /** The attempts that were counted for their account. A network may become known while a password is being checked. */
  readonly #counted = new WeakSet<Attempt>()

  constructor(clock: Pick<Clock, 'ticks'>, shares?: RateShares) {
    this.#clock = clock
    this.#shares = shares
  }

  /** Returns undefined if this network may have one more password hashed. */
  refuseHash(from: string): Refusal | undefined {
    return this.#take(this.#hashes, from)
  }

  /** Returns undefined if the attempt is allowed. */
  refuse(attempt: Attempt): Refusal | undefined {
    const limited = this.#take(this.#attempts, keyOf(attempt))
    if (limited !== undefined || attempt.isKnown === true || this.#known.has(keyOf(attempt))) return limited
    const slowed = this.#take(this.#account, attempt.account)
    if (slowed === undefined) this.#counted.add(attempt)
    else this.#refund(this.#attempts, keyOf(attempt))
    return slowed
  }

  /** Records that the password was correct. */
  succeeded(attempt: Attempt): void {
    this.refund(attempt)
    const key = keyOf(attempt)
    this.#known.delete(key)
    this.#known.add(key)
    const [oldest = ''] = this.#known
    if (this.#known.size > API_LIMITS.loginsKnownMax) this.#known.delete(oldest)
  }

  /** Reverts `refuse`, because the password was not checked after all. */
  refund(attempt: Attempt): void {
    this.#refund(this.#attempts, keyOf(attempt))
    if (this.#counted.delete(attempt)) this.#refund(this.#account, attempt.account)
  }

  #take(limit: RateLimit, key: string): Refusal | undefined {
    const aheadMs = limit.take(key, this.#clock.ticks())
    if (aheadMs < 0) return tooMany(Math.max(1, Math.ceil(-aheadMs / 1000)))
    this.#shares?.report(limit, key, 1)
    return undefined
  }

  #refund(limit: RateLimit, key: string): void {
    limit.refund(key)
    this.#shares?.report(limit, key, -1)
  }
}

const keyOf = ({ from, account }: Attempt) => `${from} ${account}`

function tooMany(waitSec: number): Refusal {
  return refused('RATE_LIMIT_EXCEEDED', {
    message: 'too many passwords were tried',
    retry_after_sec: waitSec,
  })
}
