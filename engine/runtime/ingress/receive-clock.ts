// Receive times: unique and increasing for all devices of this process, even across restarts. If the clock is set back,
// receive times go on from where they were, at half the pace of time, until the clock has caught up. After a restart in
// between, they go on from the last message.
//
// RC1. Devices move between nodes with their lanes and partitions, and the clocks of nodes differ. So a node follows the
//      clock that is ahead: before it takes anything over, it knows up to which time the previous node can have given
//      times, and its own times continue after that. So a device's messages keep their order.
// - The lead over the node's own clock shrinks slowly, so it does not outlive the clock that caused it.
import { Micros, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'

/** Receive times this far ahead of the clock mean that the clock was set back. */
const AHEAD_MICROS = 1_000_000

/** How much the lead shrinks per time passed. Much less than a dead node's lease leaves before another takes over. */
const SHRINKS_BY = 0.01

export class ReceiveClock {
  readonly #clock: Clock
  #latestAt: number
  #lastTicks: number
  /** How far receive times are ahead of the clock (RC1). */
  #leadMs = 0

  /** `latestAt` is the receive time of the last message in the log. Times begin with the next millisecond, even if the
   *  clock was set back, because milliseconds decide whether a device was registered when a message came. */
  constructor(clock: Clock, latestAt: Micros) {
    this.#clock = clock
    this.#latestAt = Math.floor(latestAt / 1000) * 1000 + 999
    this.#lastTicks = clock.ticks()
  }

  get latestAt(): Micros {
    return Micros(this.#latestAt)
  }

  /** Returns a time that no other message has or will get. */
  nextAt(): Micros {
    const now = this.#clockNow() * 1000
    this.#latestAt = now > this.#latestAt ? now : this.#latestAt + 1
    return Micros(this.#latestAt)
  }

  /** Returns the time that messages get now. */
  now(): Millis {
    return Millis(Math.max(this.#clockNow(), Math.floor(this.#latestAt / 1000)))
  }

  /** Notes that another node has given no time later than this millisecond (RC1). A clock that is very far ahead is wrong
   *  and is not followed. */
  follow(at: Millis): void {
    const leadMs = at + 1 - this.#clock.now()
    if (leadMs <= LIMITS.clockLeadMsMax) this.#leadMs = Math.max(this.#leadMs, leadMs)
  }

  /** Lets receive times go on even if the clock was set back. */
  advance(): void {
    const ticks = this.#clock.ticks()
    const passed = ticks - this.#lastTicks
    this.#lastTicks = ticks
    this.#leadMs = Math.max(0, this.#leadMs - passed * SHRINKS_BY)
    if (this.#latestAt - this.#clockNow() * 1000 > AHEAD_MICROS)
      this.#latestAt += Math.floor((passed * 1000) / 2)
  }

  #clockNow(): number {
    return this.#clock.now() + Math.ceil(this.#leadMs)
  }
}
