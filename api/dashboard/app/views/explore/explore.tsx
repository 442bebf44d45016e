// Metrics of many devices side by side. Everything that is chosen is in the address.
import { useMemo, useRef, useState } from 'preact/hooks'
import { AGGREGATES, INTERVAL_SECONDS, INTERVALS, type Interval } from '../../../../../schemas/vocabulary.ts'
import { flag, oneOf, text, words as wordsOf } from '../../address/codecs.ts'
import { intervalFor } from '../../address/time-range.ts'
import { Chart } from '../../charts/chart.tsx'
import { useAnswer } from '../../data/answers.ts'
import { useKept } from '../../data/kept.ts'
import { LIMITS } from '../../limits.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { RangeBar, timeRange, useSpan } from '../../parts/range-bar.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { TextValue } from '../../parts/text-value.tsx'
import { words } from '../../words/words.ts'
import { MetricPicker } from '../device/telemetry/metric-picker.tsx'
import '../device/telemetry/telemetry.css'
import { useWidth } from '../device/telemetry/use-width.ts'
import { columnsOf, fleetLines } from './fleet-lines.ts'

const t = words({
  title: ['Telemetry', 'Telemetrie'],
  devices: ['Devices (ids, with commas)', 'Geräte (Ids, mit Kommas)'],
  group: ['Group', 'Gruppe'],
  anyGroup: ['all groups', 'alle Gruppen'],
  by: ['One line for', 'Eine Linie für'],
  device: ['each device', 'jedes Gerät'],
  whole: ['all together', 'alle zusammen'],
  interval: ['Buckets', 'Zeitschritte'],
  auto: ['automatic', 'automatisch'],
  agg: ['Line', 'Linie'],
  log: ['Logarithmic', 'Logarithmisch'],
  table: ['Table', 'Tabelle'],
  pick: ['Choose a metric', 'Wählen Sie eine Metrik'],
  how: [
    'Type its name above. Without devices or a group, the whole fleet is shown.',
    'Geben Sie oben ihren Namen ein. Ohne Geräte oder Gruppe wird die ganze Flotte gezeigt.',
  ],
  none: ['No device has reported anything yet', 'Noch hat kein Gerät etwas gemeldet'],
  connect: ['Connect a device', 'Gerät verbinden'],
  shown: [
    '{shown} of {n} devices are drawn. Name devices or a group to choose others, or take all together.',
    '{shown} von {n} Geräten sind gezeichnet. Nennen Sie Geräte oder eine Gruppe, oder nehmen Sie alle zusammen.',
  ],
  noted: [
    'Buckets of {asked} would have been too many, so these are of {given}.',
    'Zeitschritte von {asked} wären zu viele gewesen, daher sind es {given}.',
  ],
})

const metricValue = queryValue('metric', wordsOf())
const devicesValue = queryValue('devices', wordsOf([], LIMITS.compareDevicesMax))
const groupValue = queryValue('group', text('', 256))
const byValue = queryValue('by', oneOf(['device', 'group'] as const, 'device'))
const intervalValue = queryValue('interval', oneOf<'auto' | Interval>(['auto', ...INTERVALS], 'auto'))
const aggregateValue = queryValue('agg', oneOf(AGGREGATES, 'avg'))
const logValue = queryValue('log', flag)
const tableValue = queryValue('table', flag)

export default function Explore() {
  const place = useRef<HTMLDivElement>(null)
  const width = useWidth(place)
  const span = useSpan()
  const [revision, setRevision] = useState(0)
  const known = useKnownMetrics(devicesValue.value[0], groupValue.value)
  const asked = intervalValue.value === 'auto' ? intervalFor(span, width) : intervalValue.value
  const stepMs = INTERVAL_SECONDS[asked] * 1000
  const metrics = metricValue.value.slice(0, LIMITS.chartSeriesMax)
  const wish = {
    metrics: metrics.filter((metric) => !metric.endsWith('*')),
    devices: devicesValue.value,
    group: groupValue.value,
    by: byValue.value,
    fromMs: Math.floor(span.fromMs / stepMs) * stepMs,
    toMs: Math.ceil(span.toMs / stepMs) * stepMs,
    interval: asked,
    shown: aggregateValue.value,
  }
  const shape = JSON.stringify({ ...wish, fromMs: 0, toMs: 0 })
  const found = useKept(JSON.stringify(wish), { shape, revision }, (signal) => fleetLines(wish, signal))
  const { data } = found
  const charts = useMemo(
    () => data && wish.metrics.map((metric) => ({ metric, columns: columnsOf(data, metric, wish.shown) })),
    [data, shape],
  )
  const drawn = new Set(data?.lines.map(({ name }) => name)).size
  return (
    <Page title={t('title')}>
      <div class="stack" ref={place}>
        <RangeBar />
        <MetricPicker metrics={known.metrics} value={metricValue} chosen={[]} isFree />
        <div class="chart-options">
          <TextValue
            label={t('devices')}
            value={devicesValue.value.join(',')}
            onValue={(typed) =>
              devicesValue.set(
                typed
                  .split(',')
                  .map((id) => id.trim())
                  .filter(Boolean),
                { replace: false },
              )
            }
          />
          <TextValue
            label={t('group')}
            value={groupValue.value}
            placeholder={t('anyGroup')}
            onValue={(typed) => groupValue.set(typed.trim(), { replace: false })}
          />
          <SelectField
            label={t('by')}
            value={byValue.value}
            onValue={(word) => byValue.set(word)}
            options={[
              ['device', t('device')],
              ['group', t('whole')],
            ]}
          />
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
          {(
            [
              ['log', logValue],
              ['table', tableValue],
            ] as const
          ).map(([name, value]) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                checked={value.value}
                onChange={({ currentTarget }) => value.set(currentTarget.checked)}
              />
              {t(name)}
            </label>
          ))}
        </div>
        {found.error !== undefined && (
          <ProblemCard error={found.error} onRetry={() => setRevision(revision + 1)} />
        )}
        {data !== undefined && data.interval !== asked && (
          <p class="hint" role="status">
            {t('noted', { asked, given: data.interval })}
          </p>
        )}
        {data !== undefined && byValue.value === 'device' && data.total > drawn && drawn > 0 && (
          <p class="hint">{t('shown', { shown: drawn, n: data.total })}</p>
        )}
        {metrics.length === 0 && (
          <Empty title={known.isNothing ? t('none') : t('pick')}>
            {known.isNothing ? <a href="/devices/new">{t('connect')}</a> : <p>{t('how')}</p>}
          </Empty>
        )}
        {charts?.map(({ metric, columns }) => (
          <section key={metric} class="card">
            <Chart
              title={metric}
              unit={known.metrics.find((one) => one.metric === metric)?.unit ?? undefined}
              columns={columns}
              span={span}
              isLog={logValue.value}
              hasTable={tableValue.value}
              syncKey="explore"
              onRange={timeRange.set}
            />
          </section>
        ))}
      </div>
    </Page>
  )
}

/** Names to offer: the metrics of the first device that is meant. */
function useKnownMetrics(deviceId: string | undefined, group: string) {
  const first = useAnswer(
    'listDevices',
    { query: { per_page: 1, sort: 'updated_at:DESC', ...(group === '' ? {} : { group }) } },
    { isWanted: deviceId === undefined },
  )
  const id = deviceId ?? first.data?.data[0]?.device_id
  const answer = useAnswer('listMetrics', { device_id: id ?? '-' }, { isWanted: id !== undefined })
  const metrics = answer.data?.data.filter(({ type }) => type === 'number' || type === 'boolean') ?? []
  return { metrics, isNothing: deviceId === undefined && group === '' && first.data?.total === 0 }
}
