// Leaps of the clock. A timer counts elapsed time and must not count the time by which the clock was set forward.

/** The clock was set forward by `ms` when it showed `at`. */
export interface Leap {
  readonly at: number
  readonly ms: number
}

const KEPT_MAX = 8

/** Adds a leap. Setting the clock back (`ms` is negative) cancels out earlier leaps. */
export function withLeap(leaps: readonly Leap[], { at, ms }: Leap): readonly Leap[] {
  if (ms > 0) return [...leaps, { at, ms }].slice(-KEPT_MAX)
  const last = leaps.at(-1)
  if (last === undefined || ms === 0) return leaps
  const left = last.ms + ms
  const earlier = leaps.slice(0, -1)
  return left > 0 ? [...earlier, { at: last.at, ms: left }] : withLeap(earlier, { at, ms: left })
}

/** How much later a timer that began at `from` expires because of these leaps. */
export function leaptSince(from: number, leaps: readonly Leap[]): number {
  let ms = 0
  for (const leap of leaps) if (leap.at > from) ms += leap.ms
  return ms
}
