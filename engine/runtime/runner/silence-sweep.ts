// When a shard may sweep: for silent devices, and for whatever else only time brings. After a pause of the process, while
// the log failed, or when the clock was set, time was lost: nobody was heard because nobody could be.
//
// - Every device counts as heard when lost time ends.
// P2. What devices said in lost time lies in the sockets. Sweeps are left out until there was time to read it, so that it
//     counts before anything that is due. Whoever loses time again and again sweeps all the same.
import { Millis } from '../../../schemas/ids.ts'
import { LEAP_MS_MIN, Leaps } from '../leaps.ts'
import type { WorkTask } from '../shard/protocol.ts'

/** Sweeps come every quarter second; without one for this long, or with more time gone than passed, time was lost. */
const LOST_TIME_MS = LEAP_MS_MIN
/** Looks that a sweep is left out for, by P2. Between two of them sockets and log are read. */
const HELD_LOOKS = 4

export interface Times {
  /** The time messages get now. */
  now(): Millis
  /** Monotonic. */
  ticks(): number
  /** All messages received before are in the log; undefined while it fails. */
  watermark(): Millis | undefined
}

export class SilenceSweep {
  readonly #times: Times
  readonly #leaps: Leaps
  #dueAt: Millis | undefined
  #forgiveAt: Millis | undefined
  #isCut = false
  /** Looks that are still without a sweep, by P2. */
  #held = 0
  /** There was no sweep since time was lost last. */
  #isOwed = false

  constructor(times: Times) {
    this.#times = times
    this.#leaps = new Leaps(times)
  }

  /** Every quarter second. */
  look(): void {
    const watermark = this.#times.watermark()
    if (watermark === undefined) return
    const { now, passedMs, leaptMs } = this.#leaps.look()
    const isLost = passedMs > LOST_TIME_MS || Math.abs(leaptMs) > LOST_TIME_MS
    if (isLost) {
      this.#forgiveAt = Millis(now)
      this.#dueAt = undefined
    }
    if (this.#isHeld(isLost)) return
    // The time of the look, not of the sweep: between the two the process may be put to sleep.
    this.#dueAt = watermark
  }

  /** The time to sweep at, if it is time. With entries unread, silence is only known up to the last one read. A sweep that
   *  was cut ends first. */
  takeSweep(isCaughtUp: boolean): WorkTask['sweep'] {
    if (this.#isCut) return 'rest'
    const at = this.#dueAt
    this.#dueAt = undefined
    return at === undefined || isCaughtUp ? at : 'behind'
  }

  /** `isCut`: the shard has still to come by some devices. One that was opened anew has none to come by. */
  swept(isCut: boolean): void {
    this.#isCut = isCut
  }

  /** What was known of silence says nothing any more. A sweep that was cut goes on: it began before. */
  forget(): void {
    this.#dueAt = undefined
  }

  /** by P2 */
  #isHeld(isLost: boolean): boolean {
    if (isLost && !this.#isOwed) {
      this.#held = HELD_LOOKS
      this.#isOwed = true
    }
    if (this.#held > 0) {
      this.#held--
      return true
    }
    this.#isOwed = false
    return false
  }

  /** The leaps of the clock, which no timer counts. */
  get leaps(): WorkTask['leaps'] {
    return this.#leaps.all
  }

  takeForgiveness(): Millis | undefined {
    const at = this.#forgiveAt
    this.#forgiveAt = undefined
    return at
  }
}
