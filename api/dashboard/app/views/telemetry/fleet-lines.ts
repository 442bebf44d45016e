// Histories of metrics over many devices: of some that are named, of each device of a group, or of a group as a whole.
import type { Aggregate, Interval } from '../../../../../schemas/vocabulary.ts'
import { INTERVAL_SECONDS } from '../../../../../schemas/vocabulary.ts'
import { type Columns, toColumns } from '../../charts/columns.ts'
import { fleet } from '../../data/client.ts'
import { type Bucket, withFittingInterval } from '../../data/histories.ts'
import { LIMITS } from '../../limits.ts'
import { words } from '../../words/words.ts'

const t = words({
  whole: ['{group}, {n} devices', '{group}, {n} Geräte'],
  all: ['the whole fleet', 'die ganze Flotte'],
})

export interface FleetWish {
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
  readonly name: string
  readonly buckets: readonly Bucket[]
}

export interface FleetLines {
  readonly lines: readonly FleetLine[]
  readonly interval: Interval
  /** Devices that there are, of which the lines show some. */
  readonly total: number
}

export const fleetLines = (wish: FleetWish, signal: AbortSignal): Promise<FleetLines> =>
  withFittingInterval(wish.interval, (interval) => ask(wish, interval, signal))

async function ask(wish: FleetWish, interval: Interval, signal: AbortSignal): Promise<FleetLines> {
  const { metrics, devices, group, by, shown } = wish
  if (metrics.length === 0) return { lines: [], interval, total: 0 }
  const range = {
    metric: [...metrics],
    from: new Date(wish.fromMs).toISOString(),
    to: new Date(wish.toMs).toISOString(),
    interval,
    agg: [[...new Set([shown, 'min', 'max'])].join(',')],
  }
  if (devices.length > 0) {
    const some = devices.slice(0, LIMITS.compareDevicesMax)
    const answers = await Promise.all(
      some.map((id) => fleet.getTelemetryHistory({ device_id: id, query: range, signal })),
    )
    const lines = answers.flatMap((answer, index) => seriesOf(answer, some[index] ?? ''))
    return { lines, interval, total: devices.length }
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
    return { lines, interval, total: answer.total }
  }
  const name = t('whole', { group: answer.group ?? t('all'), n: answer.devices })
  return { lines: seriesOf(answer, name), interval, total: answer.devices }
}

interface OneOrSeveral {
  readonly metric?: string
  readonly data?: readonly unknown[]
  readonly series?: readonly { readonly metric: string; readonly data: readonly unknown[] }[]
}

/** The service gives one metric plainly, and several as a list. */
function seriesOf({ metric = '', data = [], series }: OneOrSeveral, name: string): readonly FleetLine[] {
  const all = series ?? [{ metric, data }]
  // Both hold buckets.
  return all.map((one) => ({ metric: one.metric, name, buckets: one.data as readonly Bucket[] }))
}

/** The columns of one metric's chart. */
export function columnsOf({ lines, interval }: FleetLines, metric: string, shown: Aggregate): Columns {
  const own = lines.filter((line) => line.metric === metric).slice(0, LIMITS.chartSeriesMax)
  const sources = own.map(({ name, buckets }) => ({
    name,
    buckets,
    shown,
    hasBand: shown === 'avg' && own.length === 1,
  }))
  return toColumns(sources, INTERVAL_SECONDS[interval] * 1000)
}
