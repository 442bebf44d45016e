// Histories of metrics over many devices: of some that are named, of each device of a group, or of a group as a whole.
import type { Aggregate, Interval } from '../../../../../schemas/vocabulary.ts'
import { INTERVAL_SECONDS } from '../../../../../schemas/vocabulary.ts'
import { type Columns, toColumns } from '../../charts/columns.ts'
import { fleet } from '../../data/client.ts'
import { type Bucket, withFittingInterval } from '../../data/histories.ts'
import { LIMITS } from '../../limits.ts'
import { words } from '../../words/words.ts'

const t = words({
  whole: ['{group}, {n} device | {group}, {n} devices', '{group}, {n} Gerät | {group}, {n} Geräte'],
  before: ['{name}, before', '{name}, davor'],
})

export interface FleetRequest {
  readonly metrics: readonly string[]
  /** Named devices; without any, those of the group. */
  readonly devices: readonly string[]
  readonly group: string
  readonly by: 'device' | 'group'
  readonly fromMs: number
  readonly toMs: number
  readonly interval: Interval
  readonly shown: Aggregate
}

export interface FleetLine {
  readonly metric: string
  /** Its device; empty for all together. */
  readonly of: string
  readonly name: string
  readonly buckets: readonly Bucket[]
  /** It is of an earlier time, and drawn as much later. */
  readonly shiftMs?: number
}

export interface FleetLines {
  /** Those that were asked for. */
  readonly metrics: readonly string[]
  readonly lines: readonly FleetLine[]
  readonly interval: Interval
  /** Devices that there are, of which the lines show some. */
  readonly total: number
}

/** Each line is followed by that of the period before, of the same length. */
export async function linesWithBefore(request: FleetRequest, signal: AbortSignal): Promise<FleetLines> {
  const shiftMs = request.toMs - request.fromMs
  const earlier = { ...request, fromMs: request.fromMs - shiftMs, toMs: request.fromMs }
  const [found, before] = await Promise.all([fleetLines(request, signal), fleetLines(earlier, signal)])
  const lines = found.lines.flatMap((line) => [
    line,
    ...before.lines
      .filter(({ metric, of }) => metric === line.metric && of === line.of)
      .map((one) => ({ ...one, name: t('before', { name: one.name }), shiftMs })),
  ])
  return { ...found, lines }
}

export const fleetLines = (request: FleetRequest, signal: AbortSignal): Promise<FleetLines> =>
  withFittingInterval(request.interval, (interval) => ask(request, interval, signal))

async function ask(request: FleetRequest, interval: Interval, signal: AbortSignal): Promise<FleetLines> {
  const { metrics, devices, group, by, shown } = request
  if (metrics.length === 0) return { metrics, lines: [], interval, total: 0 }
  const range = {
    metric: [...metrics],
    from: new Date(request.fromMs).toISOString(),
    to: new Date(request.toMs).toISOString(),
    interval,
    agg: [[...new Set([shown, 'min', 'max'])].join(',')],
  }
  if (devices.length > 0) {
    const some = devices.slice(0, LIMITS.compareDevicesMax)
    const answers = await Promise.all(
      some.map((id) => fleet.getTelemetryHistory({ device_id: id, query: range, signal })),
    )
    const lines = answers.flatMap((answer, index) => seriesOf(answer, some[index] ?? ''))
    return { metrics, lines, interval, total: devices.length }
  }
  const answer = await fleet.getFleetTelemetry({
    query: {
      ...range,
      by,
      ...(group === '' ? {} : { group }),
      ...(by === 'device' ? { per_page: LIMITS.chartSeriesMax } : {}),
    },
    signal,
  })
  if ('total' in answer) {
    const lines = answer.data.flatMap((one) => seriesOf({ ...answer, ...one }, one.device_id))
    return { metrics, lines, interval, total: answer.total }
  }
  const name = t('whole', { group: answer.group ?? t('wholeFleet'), n: answer.devices })
  return { metrics, lines: seriesOf(answer, '', name), interval, total: answer.devices }
}

interface OneOrSeveral {
  readonly metric?: string
  readonly data?: readonly unknown[]
  readonly series?: readonly { readonly metric: string; readonly data: readonly unknown[] }[]
}

/** The service gives one metric plainly, and several as a list. */
function seriesOf(
  { metric = '', data = [], series }: OneOrSeveral,
  of: string,
  name = of,
): readonly FleetLine[] {
  const all = series ?? [{ metric, data }]
  // Both hold buckets.
  return all.map((one) => ({ metric: one.metric, of, name, buckets: one.data as readonly Bucket[] }))
}

/** The columns of one metric's chart. */
export function columnsOf({ lines, interval }: FleetLines, metric: string, shown: Aggregate): Columns {
  const own = lines.filter((line) => line.metric === metric).slice(0, LIMITS.chartSeriesMax)
  const isOne = own.filter(({ shiftMs }) => shiftMs === undefined).length === 1
  const sources = own.map(({ name, buckets, shiftMs = 0 }) => ({
    ...{ name, buckets, shown, shiftMs },
    hasBand: shown === 'avg' && isOne && shiftMs === 0,
  }))
  return toColumns(sources, INTERVAL_SECONDS[interval] * 1000)
}
