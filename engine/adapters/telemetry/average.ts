interface Totals {
  readonly sum: number
  readonly count: number
  readonly min: number
  readonly max: number
}

/** Of a bucket. Rounding must not leave [min, max], nor a sum beyond all numbers leave them. */
export function average({ sum, count, min, max }: Totals): number {
  const mean = Number.isFinite(sum) ? sum / count : min / 2 + max / 2
  return Math.min(Math.max(mean, min), max)
}
