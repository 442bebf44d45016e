// Computes the borders of buckets. In UTC they are multiples of the interval, in a time zone they are its hours and
// midnights.
//
// Buckets have no gaps or overlaps, however the clocks of the zone change. A day may have 23 or 25 hours, and a day whose
// midnight was skipped begins with its first second.
import { INTERVAL_SECONDS, type Interval } from '../../../schemas/vocabulary.ts'
import { zonePeriods } from './zone.ts'

/** Buckets of `step` seconds from `from` (seconds since 1970) until the next stretch begins. */
export interface Stretch {
  readonly from: number
  readonly step: number
}
/** Stretches in order of time. The first one begins before the requested range. */
export type Grid = readonly [Stretch, ...Stretch[]]

const DAY_SEC = 86_400

/** Returns the bucket borders of [from, to), which are milliseconds. The zone matters only for hours and days, because
 *  shorter buckets begin at the same second everywhere. */
export function gridOf({
  interval,
  zone,
  from,
  to,
}: {
  readonly interval: Interval
  readonly zone?: string | undefined
  readonly from: number
  readonly to: number
}): Grid {
  const step = INTERVAL_SECONDS[interval]
  if (zone === undefined || step < 3_600) return [{ from: 0, step }]
  // At least one midnight lies within the two days before.
  const start = Math.floor(from / 1000) - 2 * DAY_SEC
  const [first, ...later] = zonePeriods(zone, start, Math.ceil(to / 1000))
  const offset = first?.offset ?? 0
  const stretches: [Stretch, ...Stretch[]] = [{ from: bordersFrom(start, offset, step), step }]
  let before = offset
  for (const period of later) {
    extend(stretches, { ...period, before, step })
    before = period.offset
  }
  return stretches
}

/** Returns the start of the bucket that contains this second. */
export function startOf(grid: Grid, second: number): number {
  let [stretch] = grid
  for (const later of grid) if (later.from <= second) stretch = later
  return stretch.from + Math.floor((second - stretch.from) / stretch.step) * stretch.step
}

/** Returns the starts of the buckets that overlap [from, to), which are milliseconds, but at most `most` of them. */
export function startsIn(
  grid: Grid,
  { from, to }: { readonly from: number; readonly to: number },
  most: number,
) {
  const starts: number[] = []
  let start = startOf(grid, Math.floor(from / 1000))
  let i = grid.findLastIndex((stretch) => stretch.from <= start)
  while (start * 1000 < to && starts.length < most) {
    starts.push(start)
    const { step } = grid[Math.max(i, 0)] ?? grid[0]
    start += step
    const next = grid[i + 1]
    if (next !== undefined && next.from <= start) i++
  }
  return starts
}

const bordersFrom = (second: number, offset: number, step: number) =>
  Math.ceil((second + offset) / step) * step - offset

/** Continues the borders after the clocks changed at `from`, beginning at the next full hour or the next day by the new
 *  clocks. */
function extend(
  stretches: Stretch[],
  period: { readonly from: number; readonly offset: number; readonly before: number; readonly step: number },
): void {
  const { from, offset, before, step } = period
  const dayOf = (second: number, ahead: number) => Math.floor((second + ahead) / DAY_SEC)
  const isDaily = step === DAY_SEC
  // True if midnight was skipped by the change, or is exactly at the change.
  const isNewDay = isDaily && dayOf(from, offset) > dayOf(from - 1, before)
  if (isNewDay) join(stretches, { from, step }, from)
  const lastDay = isNewDay ? dayOf(from, offset) : dayOf(from - 1, before)
  let first = bordersFrom(from, offset, step)
  // If the clocks show the same midnight twice, the second one does not begin a day.
  while (isDaily && dayOf(first, offset) <= lastDay) first += step
  join(stretches, { from: first, step }, isNewDay ? from + 1 : from)
}

/** Ends the last bucket that began before the change where the next stretch begins. */
function join(stretches: Stretch[], next: Stretch, change: number): void {
  const last = stretches.at(-1)
  if (last === undefined || last.from === next.from) return
  const whole = Math.max(0, Math.floor((change - 1 - last.from) / last.step))
  const border = last.from + whole * last.step
  const rest = next.from - border
  if (rest === last.step && last.step === next.step) return
  if (border === last.from) stretches.pop()
  stretches.push({ from: border, step: rest }, next)
}
