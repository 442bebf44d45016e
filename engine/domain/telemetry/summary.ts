// The aggregates of a bucket. ClickHouse computes them by the same definitions.
import type { Millis } from '../../../schemas/ids.ts'
import type { Aggregate } from '../../../schemas/vocabulary.ts'

/** Only the aggregates that were asked for. A sum that overflows is infinite. */
export type Summary = { readonly [A in Aggregate]?: number | undefined }
export type Bucket = Summary & { readonly time: Millis }

interface Totals {
  readonly sum: number
  readonly count: number
  readonly min: number
  readonly max: number
}

/** The mean of a bucket, clamped to [min, max]. If the sum overflowed it is the middle between them. */
export function average({ sum, count, min, max }: Totals): number {
  const mean = Number.isFinite(sum) ? sum / count : min / 2 + max / 2
  return Math.min(Math.max(mean, min), max)
}
