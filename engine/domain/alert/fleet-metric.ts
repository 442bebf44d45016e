// The newest values of a fleet rule's members together.
import type { FleetMetricLeaf } from '../../../schemas/alert-condition.ts'

/** What adds up over shards, of one group. */
export interface MetricSum {
  readonly group: string
  readonly count: number
  readonly sum: number
  readonly min: number
  readonly max: number
}

export function addValue(sum: MetricSum | undefined, group: string, value: number): MetricSum {
  return sum === undefined
    ? { group, count: 1, sum: value, min: value, max: value }
    : {
        group,
        count: sum.count + 1,
        sum: sum.sum + value,
        min: Math.min(sum.min, value),
        max: Math.max(sum.max, value),
      }
}

export function mergeSums(parts: readonly (readonly MetricSum[])[]): readonly MetricSum[] {
  const all = new Map<string, MetricSum>()
  for (const part of parts.flat()) {
    const known = all.get(part.group)
    all.set(
      part.group,
      known === undefined
        ? part
        : {
            group: part.group,
            count: known.count + part.count,
            sum: known.sum + part.sum,
            min: Math.min(known.min, part.min),
            max: Math.max(known.max, part.max),
          },
    )
  }
  return [...all.values()]
}

/** Undefined without any value, but for their number, which is 0 then. */
export function aggregateOf(sum: MetricSum | undefined, agg: FleetMetricLeaf['agg']): number | undefined {
  if (agg === 'count') return sum?.count ?? 0
  if (sum === undefined) return undefined
  return agg === 'avg' ? sum.sum / sum.count : sum[agg]
}
