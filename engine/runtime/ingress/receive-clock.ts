// Receive times: unique and increasing over all devices of this process, and across restarts. When the clock is set
// back, they continue from where they were, at half the pace of time, until the clock has caught up. After a restart
// in between, they continue from the last message.
//
// RC1. Devices move from node to node with their lanes and partitions, and the nodes' clocks differ. So a node follows the
//      clock that is ahead: before it takes anything over, it has seen up to which time the node before it can have
//      given times, and its own go on behind that. What one device says keeps its order.
// - The lead over the node's own clock shrinks slowly, so it does not outlive the clock that caused it.
import { Micros, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'

/** Receive times this far ahead of the clock mean that the clock was set back. */
const AHEAD_MICROS = 1_000_000

/** How much the lead shrinks in a time. Much less than a dead node's lease leaves before another takes over. */
const SHRINKS_BY = 0.01

export class ReceiveClock {
  readonly #clock: Clock
  #latestAt: number
  #lastTicks: number
  /** How far times are ahead of the clock (RC1). */
  #leadMs = 0

  /** `latestAt` is the receive time of the last message in the log. Times go on in the next millisecond, also if the clock was
   *  set back: whether a device was registered when a message came is told by milliseconds. */
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

  /** Another node has given no time beyond this millisecond (RC1). A clock that is very far ahead is wrong, and not
   *  followed. */
  follow(at: Millis): void {
    const leadMs = at + 1 - this.#clock.now()
    if (leadMs <= LIMITS.clockLeadMsMax) this.#leadMs = Math.max(this.#leadMs, leadMs)
  }

  /** Lets time go on although the clock was set back. */
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
