// The wall clock, without its slips: one wrong reading must not become the time of messages, which is kept for ever and
// only grows.
//
// - A reading that is far ahead of the one before it, by the monotonic clock, counts once it has been the same for a
//   minute. Until then time goes on from the reading before. A machine that slept takes that long to catch up.
// - A reading that is behind counts at once: whoever needs times that grow sees to that.
import type { Clock } from '../../engine/ports/clock.ts'
import { Millis } from '../../schemas/ids.ts'

/** Corrections of a clock that is kept right are smaller. */
const AHEAD_MS_MAX = 300_000
const CONFIRMED_MS = 60_000
/** Readings that differ by less are of the same time. */
const SAME_MS = 5_000

interface Reading {
  readonly at: number
  readonly ticks: number
}

export interface SteadyClockOptions {
  readonly wall: () => number
  readonly ticks: () => number
  /** Called when a reading is held back, and with `isBelieved` when it counts after all. */
  readonly doubted: (aheadMs: number, isBelieved: boolean) => void
}

export function steadyClock({ wall, ticks, doubted }: SteadyClockOptions): Clock {
  let last: Reading = { at: wall(), ticks: ticks() }
  let doubt: Reading | undefined
  const now = () => {
    const at = wall()
    // Most readings under load are of the same millisecond, and need no second clock.
    if (at === last.at) {
      doubt = undefined
      return Millis(at)
    }
    const reading = { at, ticks: ticks() }
    const aheadMs = aheadOf(last, reading)
    if (aheadMs <= AHEAD_MS_MAX) {
      doubt = undefined
      last = reading
      return Millis(reading.at)
    }
    if (doubt === undefined || Math.abs(aheadOf(doubt, reading)) > SAME_MS) {
      doubt = reading
      doubted(aheadMs, false)
    } else if (reading.ticks - doubt.ticks >= CONFIRMED_MS) {
      doubted(aheadMs, true)
      doubt = undefined
      last = reading
      return Millis(reading.at)
    }
    return Millis(Math.floor(last.at + reading.ticks - last.ticks))
  }
  return { now, ticks }
}

/** Milliseconds by which `reading` is ahead of where `from` and the monotonic clock would have it. */
function aheadOf(from: Reading, reading: Reading): number {
  return reading.at - from.at - (reading.ticks - from.ticks)
}
