// Times of the week at which updates may start, in a time zone.
import { Millis } from '../../../schemas/ids.ts'
import { zonePeriods } from '../telemetry/zone.ts'

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
export type Day = (typeof DAYS)[number]

export interface StartWindow {
  /** None means every day. */
  readonly days: readonly Day[]
  /** Local time, such as `22:00`. */
  readonly start: string
  readonly durationMin: number
  /** An IANA time zone. */
  readonly tz: string
}

const DAY_SEC = 86_400

/** The end of the window that is open at this time; undefined while none is. */
export function windowEnd(windows: readonly StartWindow[], now: Millis): Millis | undefined {
  let end: number | undefined
  for (const window of windows)
    for (const start of startsAround(window, now, now)) {
      const closes = start + window.durationMin * 60_000
      if (start <= now && now < closes && closes > (end ?? 0)) end = closes
    }
  return end === undefined ? undefined : Millis(end)
}

/** True if any window is open between the two. */
export function hasWindow(windows: readonly StartWindow[], from: Millis, to: Millis): boolean {
  // Every window recurs weekly.
  const until = Math.min(to, from + 8 * DAY_SEC * 1_000)
  return windows.some(
    (window) =>
      windowEnd([window], from) !== undefined ||
      startsAround(window, from, Millis(until)).some((start) => start >= from && start < to),
  )
}

function startsAround({ days, start, tz }: StartWindow, from: Millis, to: Millis): readonly number[] {
  const [hours = 0, minutes = 0] = start.split(':').map(Number)
  const first = Math.floor(from / 1_000) - 3 * DAY_SEC
  const last = Math.ceil(to / 1_000) + 2 * DAY_SEC
  const periods = zonePeriods(tz, first, last)
  const starts: number[] = []
  for (let day = Math.floor(first / DAY_SEC); day <= Math.ceil(last / DAY_SEC); day++) {
    const name = DAYS[new Date(day * DAY_SEC * 1_000).getUTCDay()]
    if (name === undefined || (days.length > 0 && !days.includes(name))) continue
    const at = instantOf(day * DAY_SEC + hours * 3_600 + minutes * 60, periods)
    if (at !== undefined) starts.push(at * 1_000)
  }
  return starts
}

/** The second at which clocks show this local time. A time that occurs twice means the first; a time that is skipped means
 *  the moment of the change. */
function instantOf(local: number, periods: ReturnType<typeof zonePeriods>): number | undefined {
  for (const [i, { from, offset }] of periods.entries()) {
    const at = local - offset
    const end = periods[i + 1]?.from ?? Number.POSITIVE_INFINITY
    if (at < from) return i === 0 ? undefined : from
    if (at < end) return at
  }
  return undefined
}
