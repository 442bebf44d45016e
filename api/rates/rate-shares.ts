// Shares rate limits between nodes: reports to the others how much this node took, and applies what they took to this
// node's limits. No request waits for this. A node judges by what it knows so far.
//
// - Everything taken is reported in batches: one call at a time, shortly after the first request.
// - In the long run all nodes together admit as much as one node may. If a burst reaches all nodes at once, each further
//   node admits as much again. That is a debt, which has to be paid off before anything more is admitted.
// S3. If the other nodes cannot be reached, each node applies its own limit, as if it were alone.

import type { Clock } from '../../engine/ports/clock.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { SharedRates } from '../../engine/ports/rates.ts'
import type { Schedule } from '../../engine/ports/schedule.ts'
import { API_LIMITS } from '../limits.ts'
import type { RateLimit } from './rate-limit.ts'

interface UnreportedUse {
  readonly limit: RateLimit
  readonly key: string
  readonly since: number
  count: number
}

export interface RateSharesOptions {
  readonly rates: SharedRates
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'after'>
}

export class RateShares {
  readonly #options: RateSharesOptions
  readonly #unreported = new Map<string, UnreportedUse>()
  #isDue = false

  constructor(options: RateSharesOptions) {
    this.#options = options
  }

  /** A negative count gives requests back. */
  report(limit: RateLimit, key: string, count: number): void {
    const name = `${limit.name} ${key}`
    const known = this.#unreported.get(name)
    if (known !== undefined) known.count += count
    else if (this.#unreported.size < API_LIMITS.rateKeysMax)
      this.#unreported.set(name, { limit, key, count, since: this.#options.clock.ticks() })
    this.#shareSoon()
  }

  #shareSoon(): void {
    if (this.#isDue || this.#unreported.size === 0) return
    this.#isDue = true
    this.#options.schedule.after(API_LIMITS.rateShareEveryMs, () => void this.#share())
  }

  async #share(): Promise<void> {
    const { rates, clock } = this.#options
    const sent = this.#next()
    const sentAt = clock.ticks()
    try {
      const taken = sent.map(([key, { limit, count, since }]) => {
        return { key, stepMs: limit.stepMs, count, ageMs: sentAt - since }
      })
      const aheadsMs = sent.length === 0 ? [] : await rates.take(taken)
      for (const [index, [name, { limit, key }]] of sent.entries()) {
        const unreported = (this.#unreported.get(name)?.count ?? 0) * limit.stepMs
        limit.learn(key, sentAt + (aheadsMs[index] ?? 0) + unreported, sentAt)
      }
    } catch (error) {
      // by S3
      if (!(error instanceof Fault)) throw error
    }
    this.#isDue = false
    this.#shareSoon()
  }

  #next(): readonly (readonly [string, UnreportedUse])[] {
    const next: (readonly [string, UnreportedUse])[] = []
    for (const entry of this.#unreported) {
      if (next.length >= API_LIMITS.rateSharesAtOnceMax) break
      this.#unreported.delete(entry[0])
      // Taken and given back before it was reported.
      if (entry[1].count !== 0) next.push(entry)
    }
    return next
  }
}
