// What telemetry says about the metrics of a gate: one query per metric and span, for all devices together.
import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import type { GateQuestion, GateValue } from '../../domain/ota/stage-gate.ts'
import type { SeriesQuery, Telemetry } from '../../ports/telemetry.ts'

export interface GateSource {
  readonly series: Telemetry['series']
  /** Hours of these devices whose rollups are known to be out of date. */
  readonly lateHours: (
    deviceIds: readonly DeviceId[],
    span: { readonly from: number; readonly to: number },
  ) => readonly number[]
}

export async function gateValues(
  { deviceIds, metrics, from, to, beforeFrom, beforeTo }: GateQuestion,
  telemetry: GateSource,
): Promise<readonly GateValue[]> {
  const values: GateValue[] = []
  for (const { metric, agg, relativeTo } of metrics) {
    const ask = (span: { readonly from: number; readonly to: number }) =>
      overSpan({ deviceIds, metric, agg, ...span }, telemetry)
    const value = await ask({ from, to })
    const before = relativeTo === undefined ? undefined : await ask({ from: beforeFrom, to: beforeTo })
    values.push({ value, before })
  }
  return values
}

interface Question extends Pick<SeriesQuery, 'deviceIds'> {
  readonly metric: string
  readonly agg: GateQuestion['metrics'][number]['agg']
  readonly from: number
  readonly to: number
}

/** A single bucket that covers the whole span. */
async function overSpan(
  { deviceIds, metric, agg, from, to }: Question,
  { series, lateHours }: GateSource,
): Promise<number | undefined> {
  const start = Math.floor(from / 1_000)
  const step = Math.max(1, Math.ceil(to / 1_000) - start)
  const [found] = await series({
    deviceIds,
    by: 'group',
    metrics: [metric],
    from: Millis(start * 1_000),
    to: Millis(Math.ceil(to / 1_000) * 1_000),
    grid: [{ from: start, step }],
    aggregates: [agg],
    lateHours: lateHours(deviceIds, { from, to }),
  })
  const value = found?.buckets[0]?.[agg]
  return value !== undefined && Number.isFinite(value) ? value : undefined
}
