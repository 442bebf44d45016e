// Limits the work that one user may cause, in addition to the number of requests: a few requests can cost as much as
// thousands. The unit of work is one plain GET.
//
// - Work is charged before it is done, at the price of the request. What was not needed is given back, and what was needed
//   beyond the price is owed.
// - A price is at most the budget minus the cost of the request itself, so a user who waits long enough is served.
import type { Clock } from '../../engine/ports/clock.ts'
import { FLEET_SEARCH_WORK } from '../../schemas/operation.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { RateLimit } from './rate-limit.ts'
import type { RateShares } from './rate-shares.ts'

/** The highest price in a small budget, as a share of the budget. */
const PRICE_SHARE_MAX = 0.7

export interface WorkBudget {
  /** Returns undefined if the user may have this work done. */
  charge(userId: string, price: number): Refusal | undefined
  /** Charges for work whose price is known only afterwards: `run` resolves with its result and its true price. */
  spend<T>(
    userId: string,
    price: number,
    run: () => Promise<{ readonly result: T; readonly price: number }>,
  ): Promise<T | Refusal>
}

export interface WorkBudgetOptions {
  /** Units per second. 0 means no limit. */
  readonly perSec: number
  readonly clock: Pick<Clock, 'ticks'>
  /** Undefined if this is the only node. */
  readonly shares: RateShares | undefined
}

export function createWorkBudget({ perSec, clock, shares }: WorkBudgetOptions): WorkBudget {
  const burst = perSec * API_LIMITS.workBurstSec
  const limit = new RateLimit('work', Math.max(1, burst), API_LIMITS.workBurstSec * 1_000)
  const priceMax = Math.max(PRICE_SHARE_MAX * burst, burst - FLEET_SEARCH_WORK)
  const bounded = (price: number) => Math.min(price, priceMax)

  function charge(userId: string, price: number): Refusal | undefined {
    if (perSec === 0) return undefined
    const aheadMs = limit.take(userId, clock.ticks(), bounded(price))
    if (aheadMs < 0) return workRefusal(Math.max(1, Math.ceil(-aheadMs / 1000)))
    shares?.report(limit, userId, bounded(price))
    return undefined
  }

  return {
    charge,

    async spend(userId, price, run) {
      const refusal = charge(userId, price)
      if (refusal !== undefined) return refusal
      // Failed work is not refunded.
      const done = await run()
      const rest = bounded(price) - bounded(done.price)
      if (perSec === 0 || rest === 0) return done.result
      if (rest > 0) limit.refund(userId, rest)
      else limit.owe(userId, clock.ticks(), -rest)
      shares?.report(limit, userId, -rest)
      return done.result
    },
  }
}

const workRefusal = (waitSec: number) =>
  refused('RATE_LIMIT_EXCEEDED', {
    message: 'too much work for one user: ask for less at once, or later',
    limited: 'work',
    retry_after_sec: waitSec,
  })
