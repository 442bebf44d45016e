// The schedule of the reports of a device: one per interval, from a phase that is drawn per device, delayed by a random
// jitter.
import { draw } from '../decide/draw.ts'
import type { DeviceCohort } from './device-cohort.ts'

const PHASE = 10
const JITTER = 11

export class Cadence {
  readonly #cohort: DeviceCohort
  readonly #index: number
  #intervalMs: number
  /** The time at which the next report would be due without jitter. */
  #baseAt = 0
  dueAt = 0
  /** The number of reports so far. */
  count = 0

  constructor(cohort: DeviceCohort, index: number) {
    this.#cohort = cohort
    this.#index = index
    this.#intervalMs = cohort.plan.telemetry.intervalSec * 1_000
  }

  /** Draws the phase. A device with a connection of its own also reports at once, as real devices do after they start.
   *  A device behind a gateway waits until its gateway sends for all its devices. */
  begin(now: number, nextSendTime?: (at: number) => number): void {
    const phase = this.#phaseFrom(now, 0)
    this.#startAt(nextSendTime?.(phase) ?? phase)
    if (nextSendTime !== undefined) return
    this.#baseAt -= this.#intervalMs
    this.dueAt = now
  }

  /** Returns false if the interval stays the same. */
  setInterval(ms: number): boolean {
    if (ms === this.#intervalMs) return false
    this.#intervalMs = ms
    return true
  }

  /** Draws a new phase after the interval has changed. */
  restart(now: number): void {
    this.#startAt(this.#phaseFrom(now, this.count))
  }

  /** Schedules the next report after one was sent or skipped. */
  advance(now: number): void {
    const { jitter } = this.#cohort.plan.telemetry
    const { seed } = this.#cohort
    const late = jitter === 0 ? 0 : jitter * this.#intervalMs * draw(seed, JITTER, this.#index, this.count)
    this.#baseAt = Math.max(this.#baseAt + this.#intervalMs, now)
    this.dueAt = this.#baseAt + late
  }

  #startAt(at: number): void {
    this.#baseAt = at
    this.dueAt = at
  }

  #phaseFrom(now: number, nth: number): number {
    return now + this.#intervalMs * draw(this.#cohort.seed, PHASE, this.#index, nth)
  }
}
