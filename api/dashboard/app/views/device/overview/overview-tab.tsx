// The device at a glance: what its type says is worth seeing, everything else it reported, and what happened last.
import { useState } from 'preact/hooks'
import { pathOf } from '../../../address/routes.ts'
import { may } from '../../../data/access.ts'
import { useAnswer } from '../../../data/answers.ts'
import { AnswerArea } from '../../../parts/answer-area.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { now } from '../../../words/time.ts'
import { words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import { OpenAlerts, QuickCommands, SubDevices } from './beside.tsx'
import { LastEntries } from './last-entries.tsx'
import { type LiveMetric, useLiveMetrics } from './live-metrics.ts'
import { MetricList } from './metric-list.tsx'
import { NeverReported } from './never-reported.tsx'
import { Widget, type WidgetField } from './widget.tsx'

const t = words({
  none: ['This device has not reported anything', 'Dieses Gerät hat nie etwas gemeldet'],
  others: ['Other metrics', 'Weitere Metriken'],
})

export default function OverviewTab({ device }: TabProps) {
  const { device_id: deviceId } = device
  const types = useAnswer('listDeviceTypes', {})
  const [since] = useState(() => new Date(now.peek() - 3_600_000).toISOString())
  const metrics = useLiveMetrics(deviceId)
  const type = types.data?.data.find(({ name }) => name === device.type)
  const fields = widgetFields(type)
  const shown = fields.flatMap((field) => {
    const metric = metrics.list?.find(({ name }) => name === field.name)
    return metric === undefined ? [] : [{ field, metric }]
  })
  const names = shown.filter(({ metric }) => typeof metric.value === 'number').map(({ field }) => field.name)
  const hour = useAnswer(
    'getTelemetryHistory',
    {
      device_id: deviceId,
      query: { metric: names.length > 0 ? names : ['-'], from: since, interval: '1m', agg: ['avg'] },
    },
    { isWanted: names.length > 0, everyMs: 60_000 },
  )
  const sparkOf = (name: string) => {
    const { data } = hour
    if (data === undefined) return undefined
    const buckets = 'series' in data ? data.series.find(({ metric }) => metric === name)?.data : data.data
    return buckets?.map((bucket) => ('avg' in bucket ? bucket.avg : null))
  }
  const others = metrics.list?.filter(({ name }) => !shown.some(({ field }) => field.name === name)) ?? []
  return (
    <div class="device-columns">
      <div class="stack">
        <AnswerArea answer={metrics.answer}>
          {() =>
            metrics.list?.length === 0 ? (
              device.status === 'decommissioned' ? (
                <Empty title={t('none')} />
              ) : (
                <NeverReported device={device} />
              )
            ) : (
              <div class="stack">
                {shown.length > 0 && (
                  <section aria-label={t('values')} class="widgets">
                    {shown.map(({ field, metric }) => (
                      <Widget
                        key={field.name}
                        field={field}
                        metric={metric}
                        spark={sparkOf(field.name)}
                        href={chartOf(deviceId, metric)}
                      />
                    ))}
                  </section>
                )}
                {others.length > 0 && (
                  <MetricList
                    title={shown.length > 0 ? t('others') : t('values')}
                    deviceId={deviceId}
                    metrics={others}
                  />
                )}
              </div>
            )
          }
        </AnswerArea>
      </div>
      <div class="stack">
        <OpenAlerts device={device} />
        {may('sendCommand') && device.status !== 'decommissioned' && (
          <QuickCommands device={device} type={type} />
        )}
        {device.type === 'gateway' && <SubDevices deviceId={deviceId} />}
        <LastEntries deviceId={deviceId} />
      </div>
    </div>
  )
}

const chartOf = (deviceId: string, { name }: LiveMetric) =>
  pathOf('deviceTab', { device_id: deviceId, tab: 'telemetry' }, { metric: name })

interface TypeFields {
  readonly telemetry: readonly {
    readonly field: string
    readonly unit: string | null
    readonly range: readonly number[] | null
    readonly alert_above: number | null
    readonly alert_below: number | null
  }[]
  readonly status_fields: readonly {
    readonly field: string
    readonly warn_below: number | null
    readonly critical_below: number | null
  }[]
}

/** Status fields come first: they tell whether the device is well. */
function widgetFields(type: TypeFields | undefined): readonly WidgetField[] {
  if (type === undefined) return []
  const names = new Set([...type.status_fields, ...type.telemetry].map(({ field }) => field))
  return [...names].map((name) => {
    const telemetry = type.telemetry.find(({ field }) => field === name)
    const status = type.status_fields.find(({ field }) => field === name)
    return {
      name,
      unit: telemetry?.unit ?? undefined,
      range: telemetry?.range ?? undefined,
      warnBelow: status?.warn_below ?? undefined,
      criticalBelow: status?.critical_below ?? undefined,
      alertAbove: telemetry?.alert_above ?? undefined,
      alertBelow: telemetry?.alert_below ?? undefined,
    }
  })
}
