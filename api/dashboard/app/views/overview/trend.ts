// How the fleet went, from counts of every five minutes: what a tile tells beside the count of now.
import type { Operations, ReplyOf } from '../../../../../schemas/client/calls.ts'

type Moment = Pick<ReplyOf<Operations['getFleetTrend']>['data'][number], 'time' | 'by_status'>

const LATELY_MS = 900_000
export const BARS = 48
const DAY_MS = 86_400_000

/** How many more there are than a quarter of an hour ago; undefined if nobody counted then. */
export function changeLately(
  trend: readonly Moment[],
  status: string,
  { count, nowMs }: { readonly count: number; readonly nowMs: number },
): number | undefined {
  const before = trend.findLast(({ time }) => Date.parse(time) <= nowMs - LATELY_MS)
  // Counts of before a long pause are no counts of then.
  if (before === undefined || Date.parse(before.time) < nowMs - 2 * LATELY_MS) return undefined
  return count - (before.by_status[status] ?? 0)
}

/** The last count of each half hour of the day before now; undefined where nobody counted. */
export function barsOf(
  trend: readonly Moment[],
  status: string,
  nowMs: number,
): readonly (number | undefined)[] {
  const bars: (number | undefined)[] = Array.from({ length: BARS }, () => undefined)
  for (const { time, by_status } of trend) {
    const place = Math.floor(((Date.parse(time) - (nowMs - DAY_MS)) / DAY_MS) * BARS)
    if (place >= 0 && place < BARS) bars[place] = by_status[status] ?? 0
  }
  return bars
}
