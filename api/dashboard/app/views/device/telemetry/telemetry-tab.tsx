// The history of the device's metrics: one chart for each unit, all over the same time range, which is in the address.
import { useMemo, useState } from 'preact/hooks'
import { text } from '../../../address/codecs.ts'
import type { Span } from '../../../address/time-range.ts'
import { useAnswer } from '../../../data/answers.ts'
import { historiesOf, useHistories } from '../../../data/histories.ts'
import { isPaused, useWatch } from '../../../live/live.ts'
import { queryValue } from '../../../navigation/navigation.ts'
import { Age } from '../../../parts/age.tsx'
import { AnswerArea } from '../../../parts/answer-area.tsx'
import { CopyField } from '../../../parts/copy-field.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { RangeBar, timeRange } from '../../../parts/range-bar.tsx'
import { SelectField } from '../../../parts/select-field.tsx'
import { TextValue } from '../../../parts/text-value.tsx'
import { words } from '../../../words/words.ts'
import { ChartList } from '../../telemetry/chart-list.tsx'
import { ChartOptions } from '../../telemetry/chart-options.tsx'
import { MetricPicker } from '../../telemetry/metric-picker.tsx'
import { answeredNames, chosenMetrics, type Metric } from '../../telemetry/metrics.ts'
import { aggregateValue, marksValue, metricValue, useChartQuery } from '../../telemetry/telemetry-values.ts'
import { useMarkers } from '../../telemetry/use-markers.ts'
import type { TabProps } from '../tabs.ts'
import { chartsOf, requestsOf } from './charts-of.ts'
import { Downloads } from './downloads.tsx'

const t = words({
  compare: ['Compare with', 'Vergleichen mit'],
  previous: ['the period before', 'dem Zeitraum davor'],
  devices: ['Other devices (ids, with commas)', 'Andere Geräte (IDs, durch Kommas getrennt)'],
  none: ['This device has no numbers to draw yet', 'Dieses Gerät hat noch keine Zahlen zu zeichnen'],
  how: [
    'Each number or boolean of a report becomes a metric:',
    'Jede Zahl und jeder Wahrheitswert einer Meldung wird eine Metrik:',
  ],
  pick: ['Choose metrics above.', 'Wählen Sie oben Metriken.'],
  empty: ['No values in this range.', 'In diesem Zeitraum gibt es keine Werte.'],
  last: ['The last point arrived', 'Der letzte Punkt kam'],
  there: ['Show it', 'Dorthin'],
})

const compareValue = queryValue('compare', text('', 600))

export default function TelemetryTab({ device }: TabProps) {
  const answer = useAnswer('listMetrics', { device_id: device.device_id })
  return (
    <div class="stack">
      <RangeBar />
      <AnswerArea answer={answer}>
        {({ data }) => {
          const metrics = data.filter(({ type }) => type === 'number' || type === 'boolean')
          return metrics.length === 0 ? (
            <Empty title={t('none')}>
              <p>{t('how')}</p>
              <CopyField
                label={t('topicAndExample')}
                text={`fleet/${device.device_id}/telemetry  {"temperature":21.5}`}
              />
            </Empty>
          ) : (
            <Charts deviceId={device.device_id} type={device.type} metrics={metrics} />
          )
        }}
      </AnswerArea>
    </div>
  )
}

interface ChartsProps {
  readonly deviceId: string
  readonly type: string
  readonly metrics: readonly Metric[]
}

function Charts({ deviceId, type, metrics }: ChartsProps) {
  const chartQuery = useChartQuery()
  const [revision, setRevision] = useState(0)
  const types = useAnswer('listDeviceTypes', {})
  const chosen = chosenMetrics(metricValue.value, metrics)
  const [shown, compare] = [aggregateValue.value, compareValue.value]
  const of = { deviceId, metrics: chosen, shown, compare }
  const requests = requestsOf({ ...of, ...chartQuery.whole, interval: chartQuery.interval })
  const names = chosen.map(({ metric }) => metric)
  const shape = JSON.stringify([deviceId, chartQuery.interval, shown, compare])
  const histories = useHistories(requests, { shape, revision })
  const markers = useMarkers({ devices: [deviceId], isWanted: marksValue.value === 'on' }, chartQuery.whole)
  useWatch(
    timeRange.value.kind === 'live' && chosen.length > 0
      ? { channel: 'telemetry', filter: { device_id: deviceId }, throttle_ms: 2000, snapshot: false }
      : undefined,
    () => {
      if (!isPaused.peek()) setRevision((count) => count + 1)
    },
  )
  const usedInterval = histories.data?.[0]?.interval
  const known = types.data?.data.find(({ name }) => name === type)
  // Drawn anew when there is something new to draw, and not with each second that passes.
  const charts = useMemo(() => {
    const answered = answeredNames(names, histories.data?.[0]?.request.metrics ?? [])
    const drawn = chosen.filter(({ metric }) => answered?.includes(metric))
    return answered && histories.data && chartsOf(histories.data, drawn, { shown, type: known, deviceId })
  }, [histories.data, known, shape, names.join()])
  const first = chosen.slice(0, 1)
  return (
    <div class="stack" ref={chartQuery.place}>
      <MetricPicker metrics={metrics} value={metricValue} chosen={chosen} />
      <ChartOptions
        interval={chartQuery.interval}
        tail={
          <Downloads
            deviceId={deviceId}
            metrics={names}
            span={chartQuery.whole}
            interval={usedInterval ?? chartQuery.interval}
            shown={shown}
          />
        }
      >
        <Compare />
      </ChartOptions>
      {chosen.length === 0 ? (
        <p class="muted">{t('pick')}</p>
      ) : (
        <>
          {charts?.every(({ columns }) => columns.times.length === 0) === true && (
            <Older chosen={chosen} span={chartQuery.span} />
          )}
          <ChartList
            chartQuery={chartQuery}
            usedInterval={usedInterval}
            charts={charts}
            error={histories.error}
            isLoading={histories.isLoading}
            onRetry={() => setRevision(revision + 1)}
            markers={markers}
            strip={{
              key: JSON.stringify([deviceId, names[0], shown]),
              load: async ({ interval, ...range }, signal) => {
                const request = { ...of, ...range, metrics: first, compare: '', interval }
                const answer = await historiesOf(requestsOf(request), signal)
                const [chart] = chartsOf(answer, first, { shown, type: undefined, deviceId })
                return chart?.columns ?? { times: [], lines: [] }
              },
            }}
            syncKey={deviceId}
          />
        </>
      )}
    </div>
  )
}

/** Leads to the newest point, where it is older than the range. */
function Older({ chosen, span }: { readonly chosen: readonly Metric[]; readonly span: Span }) {
  const newest = Math.max(...chosen.map(({ timestamp }) => Date.parse(timestamp)))
  if (newest >= span.fromMs) return null
  return (
    <p class="row">
      {t('empty')} {t('last')} <Age at={newest} />
      <button
        type="button"
        class="button"
        onClick={() => timeRange.set({ kind: 'fixed', fromMs: newest - 1_800_000, toMs: newest + 1_800_000 })}
      >
        {t('there')}
      </button>
    </p>
  )
}

function Compare() {
  const compare = compareValue.value
  // The address has no devices yet while the first one is typed.
  const [isNaming, setNaming] = useState(false)
  const isOther = compare === '' ? isNaming : compare !== 'previous'
  const word = isOther ? 'devices' : compare === 'previous' ? 'previous' : 'nothing'
  return (
    <>
      <SelectField
        label={t('compare')}
        value={word}
        options={[
          ['nothing', t('nothing')],
          ['previous', t('previous')],
          ['devices', t('devices')],
        ]}
        onValue={(next) => {
          setNaming(next === 'devices')
          compareValue.set(next === 'previous' ? 'previous' : '')
        }}
      />
      {isOther && (
        <TextValue
          label={t('devices')}
          value={compare}
          onValue={(typed) => compareValue.set(typed.replaceAll(' ', ''))}
        />
      )}
    </>
  )
}
