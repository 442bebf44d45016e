// When a device reports: once in each interval from a phase of its own, and late by what the jitter draws.
import { draw } from '../decide/draw.ts'
import type { Kin } from './kin.ts'

const PHASE = 10
const JITTER = 11

export class Cadence {
  readonly #kin: Kin
  readonly #index: number
  #intervalMs: number
  /** When a report would be due without its jitter. */
  #baseAt = 0
  dueAt = 0
  /** Reports so far. */
  count = 0

  constructor(kin: Kin, index: number) {
    this.#kin = kin
    this.#index = index
    this.#intervalMs = kin.plan.telemetry.intervalSec * 1_000
  }

  /** Draws the phase. A device with a connection of its own reports at once, too, as devices do that have just come up. Others
   *  begin at the time at which those behind the same gateway report as well. */
  begin(now: number, together?: (at: number) => number): void {
    const phase = this.#phaseFrom(now, 0)
    this.#startAt(together?.(phase) ?? phase)
    if (together !== undefined) return
    this.#baseAt -= this.#intervalMs
    this.dueAt = now
  }

  /** False if this is the interval already. */
  setInterval(ms: number): boolean {
    if (ms === this.#intervalMs) return false
    this.#intervalMs = ms
    return true
  }

  /** Draws the phase anew, for another interval. */
  restart(now: number): void {
    this.#startAt(this.#phaseFrom(now, this.count))
  }

  /** A report is due and made, or left out. */
  advance(now: number): void {
    const { jitter } = this.#kin.plan.telemetry
    const { seed } = this.#kin
    const late = jitter === 0 ? 0 : jitter * this.#intervalMs * draw(seed, JITTER, this.#index, this.count)
    this.#baseAt = Math.max(this.#baseAt + this.#intervalMs, now)
    this.dueAt = this.#baseAt + late
  }

  #startAt(at: number): void {
    this.#baseAt = at
    this.dueAt = at
  }

  #phaseFrom(now: number, nth: number): number {
    return now + this.#intervalMs * draw(this.#kin.seed, PHASE, this.#index, nth)
  }
}
