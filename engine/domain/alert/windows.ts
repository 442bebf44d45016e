// Weekly recurring windows in a time zone. A start that a change of clocks skips is moved to the next minute that exists; of
// one that occurs twice, the first counts.
import type { WindowBody } from '../../../schemas/alert-rule.ts'
import { WEEKDAYS, type Weekday } from '../../../schemas/vocabulary.ts'
import { type ZonePeriod, zonePeriods } from '../telemetry/zone.ts'

const DAY_SEC = 86_400
/** 1970-01-01 was a Thursday, the fourth day of the list. */
const FIRST_WEEKDAY = 3

export interface WindowState {
  readonly isInside: boolean
  /** Inside: since when without a gap, in milliseconds; 0 if it always was. */
  readonly since: number
  /** Milliseconds; infinity if it never changes. */
  readonly changesAt: number
}

export const ALWAYS: WindowState = { isInside: true, since: 0, changesAt: Number.POSITIVE_INFINITY }

/** Answers for rising times are remembered until they change. */
export function windowClock(windows: readonly WindowBody[]): (now: number) => WindowState {
  if (windows.length === 0) return () => ALWAYS
  let from = Number.NaN
  let last = ALWAYS
  return (now) => {
    if (now >= from && now < last.changesAt) return last
    from = now
    last = windowsAt(windows, now)
    return last
  }
}

function windowsAt(windows: readonly WindowBody[], now: number): WindowState {
  const spans = windows.flatMap((window) => spansOf(window, Math.floor(now / 1_000)))
  const isInside = spans.some(({ start, end }) => start <= now && now < end)
  const edges = spans.flatMap(({ start, end }) => [start, end]).filter((edge) => edge > now)
  return { isInside, since: isInside ? coveredSince(spans, now) : 0, changesAt: Math.min(...edges) }
}

/** The start of the spans that cover all the time up to now. */
function coveredSince(spans: readonly Span[], now: number): number {
  const before = spans.find(({ start, end }) => start < now && now <= end)
  return before === undefined ? now : coveredSince(spans, before.start)
}

interface Span {
  readonly start: number
  readonly end: number
}

/** Its occurrences from yesterday to a week from now, in milliseconds. */
function spansOf(window: WindowBody, at: number): readonly Span[] {
  const { start, duration_min: minutes, tz = 'UTC' } = window
  const days: readonly Weekday[] = window.days ?? WEEKDAYS
  const periods = zonePeriods(tz, at - 3 * DAY_SEC, at + 10 * DAY_SEC)
  const [hour = 0, minute = 0] = start.split(':').map(Number)
  const today = Math.floor((at + offsetAt(periods, at)) / DAY_SEC)
  const spans: Span[] = []
  for (let day = today - 2; day <= today + 8; day++) {
    const weekday = WEEKDAYS[(day + FIRST_WEEKDAY) % 7]
    if (weekday === undefined || !days.includes(weekday)) continue
    const begin = instantOf(periods, day * DAY_SEC + hour * 3_600 + minute * 60) * 1_000
    spans.push({ start: begin, end: begin + minutes * 60_000 })
  }
  return spans
}

/** The first second at which clocks show this local time, or have passed it. */
function instantOf(periods: readonly ZonePeriod[], local: number): number {
  for (let i = 0; i < periods.length; i++) {
    const { from, offset } = periods[i] ?? { from: 0, offset: 0 }
    const until = periods[i + 1]?.from ?? Number.POSITIVE_INFINITY
    const instant = Math.max(from, local - offset)
    if (instant < until) return instant
  }
  return local
}

function offsetAt(periods: readonly ZonePeriod[], at: number): number {
  return periods.findLast(({ from }) => from <= at)?.offset ?? periods[0]?.offset ?? 0
}
