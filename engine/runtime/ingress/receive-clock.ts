// Receive times: unique and increasing over all devices of this process, and across restarts. When the clock is set
// back, they continue from where they were, at half the pace of time, until the clock has caught up. After a restart
// in between, they continue from the last message.
import { Micros, Millis } from '../../../schemas/ids.ts'
import type { Clock } from '../../ports/clock.ts'

/** Receive times this far ahead of the clock mean that the clock was set back. */
const AHEAD_MICROS = 1_000_000

export class ReceiveClock {
  readonly #clock: Clock
  #latestAt: number
  #lastTicks: number

  /** `latestAt` is the receive time of the last message in the log. */
  constructor(clock: Clock, latestAt: Micros) {
    this.#clock = clock
    this.#latestAt = latestAt
    this.#lastTicks = clock.ticks()
  }

  get latestAt(): Micros {
    return Micros(this.#latestAt)
  }

  /** Returns a time that no other message has or will get. */
  nextAt(): Micros {
    const now = this.#clock.now() * 1000
    this.#latestAt = now > this.#latestAt ? now : this.#latestAt + 1
    return Micros(this.#latestAt)
  }

  /** Returns the time that messages get now. */
  now(): Millis {
    return Millis(Math.max(this.#clock.now(), Math.floor(this.#latestAt / 1000)))
  }

  /** Lets time go on although the clock was set back. */
  advance(): void {
    const ticks = this.#clock.ticks()
    const passed = ticks - this.#lastTicks
    this.#lastTicks = ticks
    if (this.#latestAt - this.#clock.now() * 1000 > AHEAD_MICROS)
      this.#latestAt += Math.floor((passed * 1000) / 2)
  }
}
