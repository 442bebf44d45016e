// What a bucket says of its points. ClickHouse is asked for the same, in the same definitions.
import type { Millis } from '../../../schemas/ids.ts'
import type { Aggregate } from '../../../schemas/vocabulary.ts'

/** Only what was asked for. A sum beyond all numbers is infinite. */
export type Summary = { readonly [A in Aggregate]?: number }
export type Bucket = Summary & { readonly time: Millis }

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

/** In the order asked for. */
export function pick(summary: Summary, aggregates: readonly Aggregate[]): Summary {
  return Object.fromEntries(aggregates.map((aggregate) => [aggregate, summary[aggregate] ?? Number.NaN]))
}
