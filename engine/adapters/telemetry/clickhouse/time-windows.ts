// Windows of time in which rows of all devices are searched, newest first. The table is ordered by device, so a window
// is read whole. The first window is short and each further one is wider: a page of recent rows costs little, and old rows
// are found in few steps.
import { LIMITS } from '../../../limits.ts'

/** A span of milliseconds since 1970. Undefined bounds are open. */
export interface Window {
  readonly from: number | undefined
  readonly to: number | undefined
}

const FIRST_MS = 300_000
const WIDER = 6
const WINDOWS_MAX = 7

/** Devices may be ahead of the clock, and so may the newest row. So the first window has no end of its own. */
export function* windows({ from, to }: Window, now: number): Generator<Window> {
  let end = to
  let width = FIRST_MS
  for (let n = 1; ; n++) {
    const begin = Math.floor(Math.min(end ?? now, now) - width)
    const isLast = n === WINDOWS_MAX || begin <= (from ?? 0)
    yield { from: isLast ? from : begin, to: end }
    if (isLast) return
    end = begin
    width *= WIDER
  }
}

/** Rows are received after their time, unless a clock is ahead. Their partitions go by receive time. */
export const AHEAD_SEC = LIMITS.timestampAheadMsMax / 1000 + 3_600
