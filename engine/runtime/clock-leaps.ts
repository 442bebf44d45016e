// Watches the clock and notes when it was set.
import { type Leap, withLeap } from '../domain/leap.ts'

/** Smaller differences are no leap: clocks are corrected gradually, and measurements may come late. */
export const LEAP_MS_MIN = 2_000

export interface LeapTimes {
  /** Milliseconds, as the clock shows them. */
  now(): number
  /** Monotonic. */
  ticks(): number
}

export class ClockLeaps {
  readonly #times: LeapTimes
  #lastNow: number
  #lastTicks: number
  #all: readonly Leap[] = []

  constructor(times: LeapTimes) {
    this.#times = times
    this.#lastNow = times.now()
    this.#lastTicks = times.ticks()
  }

  get all(): readonly Leap[] {
    return this.#all
  }

  /** Returns the time, how much time passed since the last measurement, and by how much the clock was set meanwhile. */
  measure(): { readonly now: number; readonly passedMs: number; readonly leaptMs: number } {
    const now = this.#times.now()
    const ticks = this.#times.ticks()
    const passedMs = ticks - this.#lastTicks
    const leaptMs = now - this.#lastNow - passedMs
    this.#lastNow = now
    this.#lastTicks = ticks
    // What began after the leap and before this measurement has a later time than the clock would show without the leap.
    const at = now - leaptMs
    if (Math.abs(leaptMs) > LEAP_MS_MIN) this.#all = withLeap(this.#all, { at, ms: leaptMs })
    return { now, passedMs, leaptMs }
  }
}
