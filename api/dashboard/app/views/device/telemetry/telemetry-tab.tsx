// The history of the device's metrics: one chart for each unit, all over the same time range, which is in the address.
import { useMemo, useRef, useState } from 'preact/hooks'
import {
  AGGREGATES,
  INTERVAL_SECONDS,
  INTERVALS,
  type Interval,
} from '../../../../../../schemas/vocabulary.ts'
import { flag, oneOf, text, words as wordsOf } from '../../../address/codecs.ts'
import { intervalFor } from '../../../address/time-range.ts'
import { Chart } from '../../../charts/chart.tsx'
import { useAnswer } from '../../../data/answers.ts'
import { useHistories } from '../../../data/histories.ts'
import { isPaused, useWatch } from '../../../live/live.ts'
import { queryValue } from '../../../navigation/navigation.ts'
import { AnswerArea, Skeleton } from '../../../parts/answer-area.tsx'
import { CopyField } from '../../../parts/copy-field.tsx'
import { Empty } from '../../../parts/empty.tsx'
import { ProblemCard } from '../../../parts/problem-card.tsx'
import { RangeBar, timeRange, useSpan } from '../../../parts/range-bar.tsx'
import { SelectField } from '../../../parts/select-field.tsx'
import { TextValue } from '../../../parts/text-value.tsx'
import { words } from '../../../words/words.ts'
import type { TabProps } from '../tabs.ts'
import { chartsOf, wishesOf } from './charts-of.ts'
import { Downloads } from './downloads.tsx'
import { MetricPicker } from './metric-picker.tsx'
import { chosenMetrics, type Metric } from './metrics.ts'
import './telemetry.css'
import { useMarkers } from './use-markers.ts'
import { useWidth } from './use-width.ts'

const t = words({
  interval: ['Buckets', 'Zeitschritte'],
  auto: ['automatic', 'automatisch'],
  agg: ['Line', 'Linie'],
  compare: ['Compare with', 'Vergleichen mit'],
  nothing: ['nothing', 'nichts'],
  previous: ['the period before', 'dem Zeitraum davor'],
  devices: ['Other devices (ids, with commas)', 'Andere Geräte (Ids, mit Kommas)'],
  log: ['Logarithmic', 'Logarithmisch'],
  table: ['Table', 'Tabelle'],
  marks: ['Events', 'Ereignisse'],
  noted: [
    'Buckets of {asked} would have been too many, so these are of {given}.',
    'Zeitschritte von {asked} wären zu viele gewesen, daher sind es {given}.',
  ],
  none: ['This device has no numbers to draw yet', 'Dieses Gerät hat noch keine Zahlen zu zeichnen'],
  how: [
    'Each number or boolean of a report becomes a metric:',
    'Jede Zahl und jeder Wahrheitswert einer Meldung wird eine Metrik:',
  ],
  topic: ['Topic and example', 'Topic und Beispiel'],
  pick: ['Choose metrics above.', 'Wählen Sie oben Metriken.'],
  empty: ['There are no values in this range.', 'In diesem Zeitraum gibt es keine Werte.'],
  last: ['The last point is older: go there', 'Der letzte Punkt ist älter: dorthin'],
})

const metricValue = queryValue('metric', wordsOf())
const intervalValue = queryValue('interval', oneOf<'auto' | Interval>(['auto', ...INTERVALS], 'auto'))
const aggregateValue = queryValue('agg', oneOf(AGGREGATES, 'avg'))
const compareValue = queryValue('compare', text('', 600))
const logValue = queryValue('log', flag)
const tableValue = queryValue('table', flag)
const marksValue = queryValue('marks', oneOf(['on', 'off'], 'on'))

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
                label={t('topic')}
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
  const place = useRef<HTMLDivElement>(null)
  const width = useWidth(place)
  const span = useSpan()
  const [revision, setRevision] = useState(0)
  const types = useAnswer('listDeviceTypes', {})
  const chosen = chosenMetrics(metricValue.value, metrics)
  const asked = intervalValue.value === 'auto' ? intervalFor(span, width) : intervalValue.value
  const stepMs = INTERVAL_SECONDS[asked] * 1000
  // Whole buckets, so that a range that moves asks for the same ones until a new one begins.
  const fromMs = Math.floor(span.fromMs / stepMs) * stepMs
  const toMs = Math.ceil(span.toMs / stepMs) * stepMs
  const wishes = wishesOf({
    deviceId,
    metrics: chosen,
    fromMs,
    toMs,
    interval: asked,
    shown: aggregateValue.value,
    compare: compareValue.value,
  })
  const shape = JSON.stringify([
    deviceId,
    chosen.map(({ metric }) => metric),
    asked,
    aggregateValue.value,
    compareValue.value,
  ])
  const isLive = timeRange.value.kind === 'live'
  const histories = useHistories(wishes, { shape, revision })
  const markers = useMarkers(marksValue.value === 'on' ? deviceId : undefined, { fromMs, toMs })
  useWatch(
    isLive && chosen.length > 0
      ? { channel: 'telemetry', filter: { device_id: deviceId }, throttle_ms: 2000, snapshot: false }
      : undefined,
    () => {
      if (!isPaused.peek()) setRevision((count) => count + 1)
    },
  )
  const given = histories.data?.[0]?.interval
  const known = types.data?.data.find(({ name }) => name === type)
  // Drawn anew when there is something new to draw, and not with each second that passes.
  const charts = useMemo(
    () =>
      histories.data === undefined
        ? []
        : chartsOf(histories.data, chosen, { shown: aggregateValue.value, type: known, deviceId }),
    [histories.data, known, shape],
  )
  const isEmpty = histories.data !== undefined && charts.every(({ columns }) => columns.times.length === 0)
  const newest = chosen.map(({ timestamp }) => Date.parse(timestamp)).sort((a, b) => b - a)[0]
  return (
    <div class="stack" ref={place}>
      <MetricPicker metrics={metrics} value={metricValue} chosen={chosen} />
      <div class="chart-options">
        <SelectField
          label={t('interval')}
          value={intervalValue.value}
          onValue={(word) => intervalValue.set(word)}
          options={[['auto', `${t('auto')} (${asked})`], ...INTERVALS.map((word) => [word, word] as const)]}
        />
        <SelectField
          label={t('agg')}
          value={aggregateValue.value}
          onValue={(word) => aggregateValue.set(word)}
          options={AGGREGATES.map((word) => [word, word] as const)}
        />
        <Compare />
        <Check label={t('log')} value={logValue} />
        <Check label={t('table')} value={tableValue} />
        <label class="check">
          <input
            type="checkbox"
            checked={marksValue.value === 'on'}
            onChange={({ currentTarget }) => marksValue.set(currentTarget.checked ? 'on' : 'off')}
          />
          {t('marks')}
        </label>
        <Downloads
          deviceId={deviceId}
          metrics={chosen.map(({ metric }) => metric)}
          span={{ fromMs, toMs }}
          interval={given ?? asked}
          shown={aggregateValue.value}
        />
      </div>
      {given !== undefined && given !== asked && (
        <p class="hint" role="status">
          {t('noted', { asked, given })}
        </p>
      )}
      {histories.error !== undefined && (
        <ProblemCard error={histories.error} onRetry={() => setRevision(revision + 1)} />
      )}
      {chosen.length === 0 && <p class="muted">{t('pick')}</p>}
      {isEmpty && newest !== undefined && newest < span.fromMs && (
        <p class="row">
          {t('empty')}
          <button
            type="button"
            class="button"
            onClick={() =>
              timeRange.set({ kind: 'fixed', fromMs: newest - 1_800_000, toMs: newest + 1_800_000 })
            }
          >
            {t('last')}
          </button>
        </p>
      )}
      {histories.data === undefined && histories.error === undefined && chosen.length > 0 && <Skeleton />}
      <div
        class={histories.isLoading && !isLive ? 'stack updating' : 'stack'}
        aria-busy={histories.isLoading ? 'true' : 'false'}
      >
        {charts.map(({ key, title, unit, columns, thresholds }) => (
          <section key={key} class="card">
            <Chart
              title={title}
              unit={unit}
              columns={columns}
              span={span}
              thresholds={thresholds}
              markers={markers}
              isLog={logValue.value}
              hasTable={tableValue.value}
              syncKey={deviceId}
              onRange={timeRange.set}
            />
          </section>
        ))}
      </div>
    </div>
  )
}

function Check({ label, value }: { readonly label: string; readonly value: typeof logValue }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={value.value}
        onChange={({ currentTarget }) => value.set(currentTarget.checked)}
      />
      {label}
    </label>
  )
}

function Compare() {
  const compare = compareValue.value
  const [isOther, setOther] = useState(compare !== '' && compare !== 'previous')
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
          setOther(next === 'devices')
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
