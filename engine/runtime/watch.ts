// When a shard may sweep for silent devices, and when time was lost: after a pause of the process, or while the log
// failed, nobody was heard because nobody could be. Then every device counts as heard now.
import type { Millis } from '../../schemas/ids.ts'
import type { Clock } from '../ports/clock.ts'

/** Sweeps come every quarter second; without one for this long, time stood still. */
const LOST_TIME_MS = 2_000

export class Watch {
  readonly #clock: Clock
  #lastTicks: number
  #dueAt: Millis | undefined
  #forgiveAt: Millis | undefined

  constructor(clock: Clock) {
    this.#clock = clock
    this.#lastTicks = clock.ticks()
  }

  /** Every quarter second. */
  tick(isHearing: boolean): void {
    if (!isHearing) return
    const ticks = this.#clock.ticks()
    if (ticks - this.#lastTicks > LOST_TIME_MS) this.#forgiveAt = this.#clock.now()
    this.#lastTicks = ticks
    // The time of the tick, not of the sweep: between the two the process may be put to sleep.
    this.#dueAt = this.#clock.now()
  }

  /** The time to sweep at, if it is time. With entries unread, silence is only known up to the last one read. */
  takeSweep(isCaughtUp: boolean): Millis | 'behind' | undefined {
    const at = this.#dueAt
    this.#dueAt = undefined
    return at === undefined || isCaughtUp ? at : 'behind'
  }

  takeForgiveness(): Millis | undefined {
    const at = this.#forgiveAt
    this.#forgiveAt = undefined
    return at
  }
}
