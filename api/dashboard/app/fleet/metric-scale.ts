// The colours of a metric: from its low values to its high ones in steps that the eye can tell apart. A few values far out
// do not flatten the rest.
export interface MetricScale {
  readonly low: number
  readonly high: number
}

export const SCALE_STEPS = 5
/** The share of values at either end that only get the colour of the end. */
const OUTLIERS = 0.02

/** Undefined if nobody has a number. */
export function scaleOf(values: Float64Array): MetricScale | undefined {
  const known = values.filter((value) => Number.isFinite(value)).sort()
  const at = (share: number) => known[Math.round(share * (known.length - 1))]
  const [low, high] = [at(OUTLIERS), at(1 - OUTLIERS)]
  return low === undefined || high === undefined ? undefined : { low, high }
}

/** The step of the scale, counted from 0; undefined for what is no number. */
export function stepOf({ low, high }: MetricScale, value: number | undefined): number | undefined {
  if (value === undefined || !Number.isFinite(value)) return undefined
  if (high === low) return value < low ? 0 : value > high ? SCALE_STEPS - 1 : Math.floor(SCALE_STEPS / 2)
  const step = Math.floor(((value - low) / (high - low)) * SCALE_STEPS)
  return Math.min(SCALE_STEPS - 1, Math.max(0, step))
}
