// Adds the buckets that have no points, for charts that need every step.
import { Millis } from '../../../schemas/ids.ts'
import type { Aggregate, Fill } from '../../../schemas/vocabulary.ts'
import type { Bucket, Summary } from './summary.ts'

/** A bucket whose values may be missing. Equal buckets in a row share one object of values. */
export interface FilledBucket {
  readonly time: Millis
  readonly values: { readonly [A in Aggregate]?: number | null | undefined }
}

/** Returns a bucket for each start (in seconds, ascending), given the `buckets` that have points. An added bucket has a
 *  count of 0. According to `fill`, its other values are null, repeat the bucket before it, or are interpolated between
 *  its neighbours. They are null where a neighbour is missing. */
export function fillBuckets(
  buckets: readonly Bucket[],
  { starts, fill, aggregates }: FillOptions,
): readonly FilledBucket[] {
  let next = 0
  let shared: FilledBucket['values'] | undefined
  return starts.map((start) => {
    const time = Millis(start * 1000)
    const after = buckets[next]
    if (after?.time === time) {
      next++
      shared = undefined
      return { time, values: after }
    }
    const before = buckets[next - 1]
    const gap = { time, before, after, fill, aggregates }
    if (fill === 'linear' && before !== undefined && after !== undefined)
      return { time, values: emptyBucket(gap) }
    // All buckets of a gap have the same values.
    shared ??= emptyBucket(gap)
    return { time, values: shared }
  })
}

export interface FillOptions {
  readonly starts: readonly number[]
  readonly fill: Fill
  readonly aggregates: readonly Aggregate[]
}

interface Gap {
  readonly time: Millis
  readonly before: Bucket | undefined
  readonly after: Bucket | undefined
  readonly fill: Fill
  readonly aggregates: readonly Aggregate[]
}

function emptyBucket({ time, before, after, fill, aggregates }: Gap) {
  const value = (aggregate: Aggregate): number | null => {
    if (aggregate === 'count') return 0
    if (fill === 'null' || before === undefined) return null
    if (fill === 'previous') return before[aggregate] ?? null
    return after === undefined ? null : between(before, after, { time, aggregate })
  }
  return Object.fromEntries(aggregates.map((aggregate) => [aggregate, value(aggregate)]))
}

function between(
  before: Summary & { readonly time: Millis },
  after: Summary & { readonly time: Millis },
  { time, aggregate }: { readonly time: Millis; readonly aggregate: Aggregate },
): number | null {
  const [low, high] = [before[aggregate], after[aggregate]]
  if (low === undefined || high === undefined) return null
  const share = (time - before.time) / (after.time - before.time)
  // In `low + share * (high - low)` the difference could overflow.
  const value = low * (1 - share) + high * share
  return Math.min(Math.max(value, Math.min(low, high)), Math.max(low, high))
}
