// For tests: rates that several nodes of one process share.
import type { Clock } from '../../../ports/clock.ts'
import type { RateUse, SharedRates } from '../../../ports/rates.ts'

export class MemoryRates implements SharedRates {
  readonly #clock: Pick<Clock, 'ticks'>
  readonly #paidAt = new Map<string, number>()

  constructor(clock: Pick<Clock, 'ticks'>) {
    this.#clock = clock
  }

  async take(taken: readonly RateUse[]): Promise<readonly number[]> {
    const now = this.#clock.ticks()
    return taken.map(({ key, stepMs, count, ageMs }) => {
      const paidAt = Math.max(this.#paidAt.get(key) ?? Number.NEGATIVE_INFINITY, now - ageMs) + stepMs * count
      this.#paidAt.set(key, paidAt)
      return paidAt - now
    })
  }
}
