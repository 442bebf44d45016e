// The rate of change of a metric over a window of its own event time.
import { LIMITS } from '../../limits.ts'

/** Times in microseconds and values in turn, oldest first. */
export type Samples = number[]

/** Adds the newest value. Of values that lie close together the last one stays. */
export function addSample(
  samples: Samples,
  { at, value }: { readonly at: number; readonly value: number },
  windowSec: number,
): Samples {
  const windowMicros = windowSec * 1_000_000
  // The value just before the window stays: with it the window is full.
  while (samples.length > 2 && (samples[2] ?? at) <= at - windowMicros) samples.splice(0, 2)
  const beforeLast = samples[samples.length - 4]
  const isClose = beforeLast !== undefined && at - beforeLast < (windowMicros * 2) / LIMITS.rateSamplesMax
  if (isClose) samples.splice(-2, 2)
  samples.push(at, value)
  if (samples.length > 2 * LIMITS.rateSamplesMax) samples.splice(0, 2)
  return samples
}

/** Per second; undefined unless two values lie at least half a window apart. */
export function rateOf(samples: Samples, windowSec: number): number | undefined {
  const [from, first] = samples
  const to = samples.at(-2)
  const last = samples.at(-1)
  if (from === undefined || first === undefined || to === undefined || last === undefined) return undefined
  const seconds = (to - from) / 1_000_000
  return seconds * 2 < windowSec || seconds === 0 ? undefined : (last - first) / seconds
}
