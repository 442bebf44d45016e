// Leaps of the clock. A timer counts time that passed, and not how far the clock was set forwards meanwhile.

/** The clock was set forwards, by `ms`, and showed `at` then. */
export interface Leap {
  readonly at: number
  readonly ms: number
}

const KEPT_MAX = 8

/** The leaps with one more. A clock that is set back (`ms` is negative) takes back what it leapt before. */
export function withLeap(leaps: readonly Leap[], { at, ms }: Leap): readonly Leap[] {
  if (ms > 0) return [...leaps, { at, ms }].slice(-KEPT_MAX)
  const last = leaps.at(-1)
  if (last === undefined || ms === 0) return leaps
  const left = last.ms + ms
  const earlier = leaps.slice(0, -1)
  return left > 0 ? [...earlier, { at: last.at, ms: left }] : withLeap(earlier, { at, ms: left })
}

/** How much later a timer is over that began at this time. */
export function leaptSince(from: number, leaps: readonly Leap[]): number {
  let ms = 0
  for (const leap of leaps) if (leap.at > from) ms += leap.ms
  return ms
}
