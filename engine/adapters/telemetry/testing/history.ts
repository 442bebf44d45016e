// For tests of telemetry adapters: random histories of inserts and settlements, queries, and their right results. Times
// are microseconds since the history's first day began.
import fc from 'fast-check'
import { Millis } from '../../../../schemas/ids.ts'
import { INTERVAL_SECONDS, INTERVALS, type Interval } from '../../../../schemas/vocabulary.ts'
import type { Bucket } from '../../../domain/telemetry/summary.ts'

const SECOND = 1_000_000
const HOUR = 3_600 * SECOND
const SPAN_MS = 6 * 3_600_000
/** Times that are often at borders and often equal. */
const AT = fc.oneof(
  fc.integer({ min: 0, max: SPAN_MS * 1000 - 1 }),
  fc.integer({ min: 0, max: (SPAN_MS / 60_000) * 2 }).map((n) => Math.max(0, n * 30 * SECOND - (n % 2))),
  fc.constantFrom(0, HOUR - 1, HOUR, HOUR + 1, 2 * HOUR),
)
const METRIC = fc.constantFrom('v', 'w')
const POINTS = fc.array(
  // Quarters are added without rounding, in whatever order.
  fc.record({ at: AT, metric: METRIC, v: fc.integer({ min: -4000, max: 4000 }).map((n) => n / 4) }),
  { minLength: 1, maxLength: 30 },
)
export const HISTORY = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('insert' as const), points: POINTS, again: fc.boolean() }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('settle' as const),
        hour: fc.integer({ min: 1, max: 6 }),
        late: fc.boolean(),
      }),
    },
  ),
  { minLength: 1, maxLength: 8 },
)
/** Begins before the points, so that most of the range may be settled. */
const BEFORE_H = 4
export const ASKS = fc.array(
  fc.record({
    from: fc.oneof(
      fc.integer({ min: -BEFORE_H * 3_600_000, max: SPAN_MS }),
      fc.integer({ min: -BEFORE_H, max: 6 }).map((h) => h * 3_600_000),
    ),
    length: fc.oneof(fc.integer({ min: 0, max: SPAN_MS * 2 }), fc.constant(SPAN_MS * 2)),
    metric: METRIC,
    interval: fc.constantFrom(...INTERVALS),
  }),
  { minLength: 4, maxLength: 4 },
)

/** The right result of a query, computed point by point. */
export function bucketsOf(
  points: readonly { readonly at: number; readonly v: number }[],
  { from, to, interval }: { readonly from: number; readonly to: number; readonly interval: Interval },
): readonly Bucket[] {
  const step = INTERVAL_SECONDS[interval] * SECOND
  const within = points.filter(({ at }) => at >= from && at < to).sort((a, b) => a.at - b.at)
  const starts = [...new Set(within.map(({ at }) => Math.floor(at / step) * step))]
  return starts.map((start) => {
    const values = within.filter(({ at }) => Math.floor(at / step) * step === start).map(({ v }) => v)
    return {
      time: Millis(start / 1000),
      avg: values.reduce((sum, v) => sum + v, 0) / values.length,
      min: Math.min(...values),
      max: Math.max(...values),
      count: values.length,
      last: values.at(-1) ?? Number.NaN,
    }
  })
}
