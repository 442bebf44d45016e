// Buckets computed straight from points. Every adapter must return the same.
import type { DeviceId, Micros } from '../../../../schemas/ids.ts'
import { Millis } from '../../../../schemas/ids.ts'
import { startOf } from '../../../domain/telemetry/grid.ts'
import type { Bucket } from '../../../domain/telemetry/summary.ts'
import type { Series, SeriesQuery } from '../../../ports/telemetry.ts'
import { summarize } from './summarize.ts'

export interface TimedPoint<Value> {
  readonly at: Micros
  readonly value: Value
}

/** `pointsOf` returns the points of a series in [from, to), ordered by time. */
export function toSeries(
  { deviceIds, by, metrics, grid, aggregates }: SeriesQuery,
  pointsOf: (deviceId: DeviceId, metric: string) => readonly TimedPoint<number>[],
): readonly Series[] {
  const toBuckets = (points: readonly TimedPoint<number>[]): readonly Bucket[] => {
    const groups = new Map<number, number[]>()
    for (const { at, value } of points) {
      const start = startOf(grid, Math.floor(at / 1_000_000))
      const values = groups.get(start)
      if (values === undefined) groups.set(start, [value])
      else values.push(value)
    }
    return [...groups].map(([start, values]) => ({
      time: Millis(start * 1000),
      ...summarize(values, aggregates),
    }))
  }
  const ids = [...deviceIds].sort()
  const names = [...metrics].sort()
  const all: readonly Series[] =
    by === 'device'
      ? ids.flatMap((deviceId) =>
          names.map((metric) => ({ deviceId, metric, buckets: toBuckets(pointsOf(deviceId, metric)) })),
        )
      : names.map((metric) => {
          // The sort is stable, so at the same time the device with the greater id is last.
          const points = ids.flatMap((deviceId) => pointsOf(deviceId, metric)).sort((a, b) => a.at - b.at)
          return { deviceId: undefined, metric, buckets: toBuckets(points) }
        })
  return all.filter(({ buckets }) => buckets.length > 0)
}
