// The borders of buckets: in UTC at multiples of their interval, in a time zone at its hours and midnights.
//
// Buckets follow each other without gap or overlap whatever the zone's clocks do. A day may have 23 or 25 hours, and a
// day whose midnight was skipped begins with its first second.
import { INTERVAL_SECONDS, type Interval } from '../../../schemas/vocabulary.ts'
import { zonePeriods } from './zone.ts'

/** Buckets of `step` seconds that begin at `from`, in seconds since 1970, and end where the next stretch begins. */
export interface Stretch {
  readonly from: number
  readonly step: number
}
/** Stretches in order. The first one begins before everything that is asked for. */
export type Grid = readonly [Stretch, ...Stretch[]]

const DAY_SEC = 86_400

/** The bucket borders of [from, to), which are milliseconds. The zone only matters to hours and days, because shorter
 *  buckets begin with the same second everywhere. */
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
  // A midnight lies within the two days before.
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

/** Returns the start of the bucket that holds this second. */
export function startOf(grid: Grid, second: number): number {
  let [stretch] = grid
  for (const later of grid) if (later.from <= second) stretch = later
  return stretch.from + Math.floor((second - stretch.from) / stretch.step) * stretch.step
}

/** Returns the starts of all buckets that touch [from, to), which are milliseconds, at most `most` of them. */
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

/** Extends the borders over a change of clocks at `from`: they continue at the next full hour of the new clocks, or at
 *  the next new day. */
function extend(
  stretches: Stretch[],
  period: { readonly from: number; readonly offset: number; readonly before: number; readonly step: number },
): void {
  const { from, offset, before, step } = period
  const dayOf = (second: number, ahead: number) => Math.floor((second + ahead) / DAY_SEC)
  const isDaily = step === DAY_SEC
  // True if the day's midnight was skipped, or is right here.
  const isNewDay = isDaily && dayOf(from, offset) > dayOf(from - 1, before)
  if (isNewDay) join(stretches, { from, step }, from)
  const lastDay = isNewDay ? dayOf(from, offset) : dayOf(from - 1, before)
  let first = bordersFrom(from, offset, step)
  // A midnight that clocks show a second time begins no day.
  while (isDaily && dayOf(first, offset) <= lastDay) first += step
  join(stretches, { from: first, step }, isNewDay ? from + 1 : from)
}

/** The last bucket that began before the change ends where the next stretch begins. */
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
