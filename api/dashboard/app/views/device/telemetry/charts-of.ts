// Which histories are asked for, and which charts they become: one for each unit.
import type { Aggregate, Interval } from '../../../../../../schemas/vocabulary.ts'
import { INTERVAL_SECONDS } from '../../../../../../schemas/vocabulary.ts'
import { type Source, toColumns } from '../../../charts/columns.ts'
import type { Threshold } from '../../../charts/marker.ts'
import type { History, HistoryRequest } from '../../../data/histories.ts'
import { LIMITS } from '../../../limits.ts'
import type { DeviceType } from '../../../parts/command-draft.ts'
import { number, words } from '../../../words/words.ts'
import type { ChartOf } from '../../telemetry/chart-list.tsx'
import type { Metric } from '../../telemetry/metrics.ts'

const t = words({
  before: ['{name}, before', '{name}, davor'],
  above: ['alert above {value}', 'Alarm über {value}'],
  below: ['alert below {value}', 'Alarm unter {value}'],
  warn: ['warning below {value}', 'Warnung unter {value}'],
  critical: ['critical below {value}', 'kritisch unter {value}'],
})

export interface ChartsRequest {
  readonly deviceId: string
  readonly metrics: readonly Metric[]
  readonly fromMs: number
  readonly toMs: number
  readonly interval: Interval
  readonly shown: Aggregate
  /** `previous`, ids of devices with commas, or nothing. */
  readonly compare: string
}

export function requestsOf({
  deviceId,
  metrics,
  fromMs,
  toMs,
  interval,
  shown,
  compare,
}: ChartsRequest): readonly HistoryRequest[] {
  const aggregates = [...new Set([shown, 'min', 'max'] as const)]
  const one = { deviceId, metrics: metrics.map(({ metric }) => metric), fromMs, toMs, interval, aggregates }
  if (compare === '') return [one]
  const length = toMs - fromMs
  if (compare === 'previous')
    return [one, { ...one, fromMs: fromMs - length, toMs: fromMs, name: 'previous' }]
  const others = compare.split(',').filter((id) => id !== '' && id !== deviceId)
  return [
    one,
    ...others.slice(0, LIMITS.compareDevicesMax - 1).map((id) => ({ ...one, deviceId: id, name: id })),
  ]
}

interface ChartOptions {
  readonly shown: Aggregate
  readonly type: DeviceType | undefined
  readonly deviceId: string
}

export function chartsOf(
  histories: readonly History[],
  metrics: readonly Metric[],
  { shown, type, deviceId }: ChartOptions,
): readonly ChartOf[] {
  // Without a unit, two metrics have nothing in common that one axis could show.
  const keyOf = ({ metric, unit }: Metric) => unit ?? `: ${metric}`
  const units = [...new Set(metrics.map(keyOf))]
  const interval = histories[0]?.interval ?? '1m'
  return units.map((key) => {
    const together = metrics.filter((metric) => keyOf(metric) === key)
    const sources = together.flatMap(({ metric }) =>
      histories.map((history): Source => {
        const { request, series } = history
        const isFirst = request.name === undefined
        return {
          name: nameOf(metric, request, deviceId, histories.length > 1),
          buckets: series.get(metric) ?? [],
          shown,
          // Only the line of the mean has a meaningful band around it.
          hasBand: isFirst && shown === 'avg',
          shiftMs: request.name === 'previous' ? request.toMs - request.fromMs : 0,
        }
      }),
    )
    return {
      key,
      title: together.map(({ metric }) => metric).join(', '),
      unit: together[0]?.unit ?? undefined,
      columns: toColumns(sources.slice(0, LIMITS.chartSeriesMax), INTERVAL_SECONDS[interval] * 1000),
      thresholds: together.length === 1 ? thresholdsOf(together[0]?.metric ?? '', type) : [],
    }
  })
}

function nameOf(metric: string, { name, deviceId }: HistoryRequest, own: string, hasOthers: boolean): string {
  if (name === 'previous') return t('before', { name: metric })
  return hasOthers && (name !== undefined || deviceId !== own) ? `${metric} · ${deviceId}` : metric
}

/** Lines of one metric only: those of several could not be told apart. */
function thresholdsOf(metric: string, type: DeviceType | undefined): readonly Threshold[] {
  const telemetry = type?.telemetry.find(({ field }) => field === metric)
  const status = type?.status_fields.find(({ field }) => field === metric)
  const all = [
    [telemetry?.alert_above, 'above', 'warning'],
    [telemetry?.alert_below, 'below', 'warning'],
    [status?.warn_below, 'warn', 'warning'],
    [status?.critical_below, 'critical', 'critical'],
  ] as const
  return all.flatMap(([value, name, severity]) =>
    value == null ? [] : [{ value, severity, text: t(name, { value: number(value) }) }],
  )
}
