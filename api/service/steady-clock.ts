// A wall clock that ignores single wrong readings. A message's receive time is stored for ever and may only grow, so one
// reading from the future would do lasting harm.
//
// - A reading far ahead of what the monotonic clock predicts is accepted only after readings have agreed with it for a
//   minute. Until then, time continues from the last accepted reading. After a machine has slept, the clock needs that
//   minute to catch up.
// - A reading that is behind is accepted at once. Code that needs times to grow ensures this itself.
import type { Clock } from '../../engine/ports/clock.ts'
import { Millis } from '../../schemas/ids.ts'

/** Corrections of a synchronised clock are smaller than this. */
const AHEAD_MS_MAX = 300_000
const CONFIRMED_MS = 60_000
/** Two readings that differ by less than this agree with each other. */
const AGREEMENT_MS = 5_000

interface Reading {
  readonly at: number
  readonly ticks: number
}

export interface SteadyClockOptions {
  readonly wall: () => number
  readonly ticks: () => number
  /** Called when a reading is held back, and with `isBelieved` once it is accepted after all. */
  readonly onDoubt: (aheadMs: number, isBelieved: boolean) => void
}

export function steadyClock({ wall, ticks, onDoubt }: SteadyClockOptions): Clock {
  let last: Reading = { at: wall(), ticks: ticks() }
  let doubt: Reading | undefined
  const now = () => {
    const at = wall()
    // Under load most readings fall into the same millisecond and need no comparison with the monotonic clock.
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
    if (doubt === undefined || Math.abs(aheadOf(doubt, reading)) > AGREEMENT_MS) {
      doubt = reading
      onDoubt(aheadMs, false)
    } else if (reading.ticks - doubt.ticks >= CONFIRMED_MS) {
      onDoubt(aheadMs, true)
      doubt = undefined
      last = reading
      return Millis(reading.at)
    }
    return Millis(Math.floor(last.at + reading.ticks - last.ticks))
  }
  return { now, ticks }
}

/** How far `reading` is ahead of the time predicted by `from` and the monotonic clock, in milliseconds. */
function aheadOf(from: Reading, reading: Reading): number {
  return reading.at - from.at - (reading.ticks - from.ticks)
}
