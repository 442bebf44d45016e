// What a bucket says of its points, computed from them: what ClickHouse is asked for, in the same definitions.
import type { Aggregate } from '../../../../schemas/vocabulary.ts'
import { average, type Summary } from '../../../domain/telemetry/summary.ts'

const QUANTILES: Readonly<Partial<Record<Aggregate, number>>> = { p50: 0.5, p95: 0.95, p99: 0.99 }

/** The summary of at least one value, in the order of time. */
export function summarize(values: readonly number[], aggregates: readonly Aggregate[]): Summary {
  const totals = {
    sum: 0,
    count: values.length,
    min: Number.POSITIVE_INFINITY,
    max: Number.NEGATIVE_INFINITY,
  }
  for (const value of values) {
    totals.sum += value
    totals.min = Math.min(totals.min, value)
    totals.max = Math.max(totals.max, value)
  }
  const all: { [A in Aggregate]?: number } = {
    ...totals,
    avg: average(totals),
    first: values[0] ?? Number.NaN,
    last: values.at(-1) ?? Number.NaN,
  }
  if (aggregates.includes('stddev')) all.stddev = deviation(values)
  for (const aggregate of aggregates) {
    const level = QUANTILES[aggregate]
    if (level !== undefined) all[aggregate] = quantile(values, level)
  }
  return Object.fromEntries(aggregates.map((aggregate) => [aggregate, all[aggregate] ?? Number.NaN]))
}

/** The deviation of the points themselves, not an estimate of what they were drawn from: 0 for one point. */
function deviation(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)
}

/** Between two points it is where a straight line has it. */
function quantile(values: readonly number[], level: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const place = level * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(place)] ?? Number.NaN, sorted[Math.ceil(place)] ?? Number.NaN]
  return low + (place - Math.floor(place)) * (high - low)
}
