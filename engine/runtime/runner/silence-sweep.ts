// When a shard may sweep for silent devices and other deadlines. Time is lost when the process was paused, the log failed
// or the clock was set: no device was heard then, because none could be.
//
// - Every device counts as heard at the end of lost time.
// P2. Messages from lost time are still in the sockets. Some sweeps are left out, so that these messages are read and
//     count before anything that is due. If time is lost again and again, there are sweeps all the same.
import { Millis } from '../../../schemas/ids.ts'
import { ClockLeaps, LEAP_MS_MIN } from '../clock-leaps.ts'
import type { WorkTask } from '../shard/protocol.ts'

/** Ticks come every quarter second. If a tick is this late, or the clock moved this much too far, time was lost. */
const LOST_TIME_MS = LEAP_MS_MIN
/** How many ticks pass without a sweep by P2. Between ticks, sockets and log are read. */
const SKIPPED_TICKS = 4

export interface Times {
  /** The time that messages get now. */
  now(): Millis
  /** Monotonic. */
  ticks(): number
  /** All messages received before this time are in the log. Undefined while the log fails. */
  watermark(): Millis | undefined
}

export class SilenceSweep {
  readonly #times: Times
  readonly #leaps: ClockLeaps
  #dueAt: Millis | undefined
  #forgiveAt: Millis | undefined
  #isCut = false
  /** How many more ticks pass without a sweep, by P2. */
  #ticksToSkip = 0
  /** Whether time was lost and there was no sweep since. */
  #hasSkipped = false

  constructor(times: Times) {
    this.#times = times
    this.#leaps = new ClockLeaps(times)
  }

  /** Called every quarter second. */
  tick(): void {
    const watermark = this.#times.watermark()
    if (watermark === undefined) return
    const { now, passedMs, leaptMs } = this.#leaps.measure()
    const isLost = passedMs > LOST_TIME_MS || Math.abs(leaptMs) > LOST_TIME_MS
    if (isLost) {
      this.#forgiveAt = Millis(now)
      this.#dueAt = undefined
    }
    if (this.#isSkipped(isLost)) return
    // The time of this tick, not of the sweep, because the process may be suspended between the two.
    this.#dueAt = watermark
  }

  /** The time to sweep at, if a sweep is due. With entries unread, silence is known only up to the last entry read. A cut
   *  sweep is finished first. */
  takeSweep(isCaughtUp: boolean): WorkTask['sweep'] {
    if (this.#isCut) return 'rest'
    const at = this.#dueAt
    this.#dueAt = undefined
    return at === undefined || isCaughtUp ? at : 'behind'
  }

  /** `isCut`: whether the shard has still to visit some devices. A shard that was opened again has none to visit. */
  swept(isCut: boolean): void {
    this.#isCut = isCut
  }

  /** Forgets what is known about silence. A cut sweep goes on, because it began before. */
  forget(): void {
    this.#dueAt = undefined
  }

  /** by P2 */
  #isSkipped(isLost: boolean): boolean {
    if (isLost && !this.#hasSkipped) {
      this.#ticksToSkip = SKIPPED_TICKS
      this.#hasSkipped = true
    }
    if (this.#ticksToSkip > 0) {
      this.#ticksToSkip--
      return true
    }
    this.#hasSkipped = false
    return false
  }

  /** The leaps of the clock, which do not count for timers. */
  get leaps(): WorkTask['leaps'] {
    return this.#leaps.all
  }

  takeForgiveness(): Millis | undefined {
    const at = this.#forgiveAt
    this.#forgiveAt = undefined
    return at
  }
}
