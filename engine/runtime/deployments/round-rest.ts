// How long the leader rests between two rounds. Where devices are quick, places are free again soon after they were given, and
// a long rest would leave them empty. A rollout of slow devices costs little.
import { LIMITS } from '../../limits.ts'

/** The rest is as long as it takes until this share of all places is free again. */
const SHARE = 1 / 100
/** Devices that began together end together, so the rate is that of some seconds. */
const SMOOTH_MS = 2_000

export class RoundRest {
  /** Places given per millisecond. */
  #rate = 0
  #at: number | undefined
  /** Places given since the last rest. */
  #given = 0
  #countedMs = 0

  /** Notes how long it took to count all jobs. */
  counted(ms: number): void {
    this.#countedMs = ms
  }

  /** Notes that a round gave so many places. */
  gave(places: number): void {
    this.#given += places
  }

  /** Returns the rest after a round. It is never shorter than the count took, so that a large fleet is not busy counting.
   *  `places`: how many there are in all. `at`: the time by `ticks`. */
  after({ places, at }: { readonly places: number; readonly at: number }): number {
    const passedMs = Math.max(1, at - (this.#at ?? at - SMOOTH_MS))
    this.#at = at
    this.#rate += (this.#given / passedMs - this.#rate) * (1 - Math.exp(-passedMs / SMOOTH_MS))
    this.#given = 0
    const { otaRestMinMs, otaRestMaxMs } = LIMITS
    const wanted = this.#rate > 0 ? (SHARE * places) / this.#rate : otaRestMaxMs
    return Math.max(otaRestMinMs, this.#countedMs, Math.min(wanted, otaRestMaxMs))
  }
}
