// Metrics of many devices side by side. Everything that is chosen is in the address.

import { useMemo, useState } from 'preact/hooks'
import { DEVICE_STATUSES } from '../../../../../schemas/vocabulary.ts'
import { oneOf, text, words as wordsOf } from '../../address/codecs.ts'
import { pathOf } from '../../address/routes.ts'
import { splitList } from '../../address/split-list.ts'
import { useAnswer } from '../../data/answers.ts'
import { useNewestAnswer } from '../../data/newest-answer.ts'
import { LIMITS } from '../../limits.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Page } from '../../parts/page.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { RangeBar } from '../../parts/range-bar.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { TextValue } from '../../parts/text-value.tsx'
import { words } from '../../words/words.ts'
import { ChartList } from './chart-list.tsx'
import { ChartOptions } from './chart-options.tsx'
import { columnsOf, type FleetRequest, fleetLines, linesWithBefore } from './fleet-lines.ts'
import { MetricPicker } from './metric-picker.tsx'
import { answeredNames, drawnNames } from './metrics.ts'
import { aggregateValue, marksValue, metricValue, useChartQuery } from './telemetry-values.ts'
import { useMarkers } from './use-markers.ts'

const t = words({
  devices: ['Devices (ids, comma-separated)', 'Geräte (IDs, durch Kommas getrennt)'],
  anyGroup: ['all groups', 'alle Gruppen'],
  by: ['One line per', 'Eine Linie für'],
  device: ['device', 'jedes Gerät'],
  whole: ['all together', 'alle zusammen'],
  compare: ['Compare with', 'Vergleichen mit'],
  previous: ['the period before', 'dem Zeitraum davor'],
  pick: ['Choose a metric', 'Wählen Sie eine Metrik'],
  how: [
    'Take one of these, or type its name above. Without devices or a group, the whole fleet is shown.',
    'Nehmen Sie eine von diesen, oder geben Sie oben ihren Namen ein. Ohne Geräte oder Gruppe wird die ganze Flotte gezeigt.',
  ],
  none: ['No device has reported anything yet', 'Noch hat kein Gerät etwas gemeldet'],
  shown: [
    '{shown} of {n} devices are drawn. Choose devices or a group to see others, or draw all together.',
    '{shown} von {n} Geräten sind gezeichnet. Nennen Sie Geräte oder eine Gruppe, oder nehmen Sie alle zusammen.',
  ],
})

const devicesValue = queryValue('devices', wordsOf([], LIMITS.compareDevicesMax))
const groupValue = queryValue('group', text('', 256))
/** More would be a page of their own. */
const OFFERED_MAX = 16
const COMPARISONS = ['', 'previous'] as const
const compareValue = queryValue('compare', oneOf(COMPARISONS, ''))
const byValue = queryValue('by', oneOf(['device', 'group'] as const, 'device'))

export default function Explore() {
  const chartQuery = useChartQuery()
  const [revision, setRevision] = useState(0)
  const [devices, group] = [devicesValue.value, groupValue.value]
  const known = useKnownMetrics(devices[0], group)
  const names = drawnNames(metricValue.value, known.metrics)
  const shown = aggregateValue.value
  const of = { metrics: names, devices, group, by: byValue.value, shown }
  const request: FleetRequest = { ...of, ...chartQuery.whole, interval: chartQuery.interval }
  const compare = compareValue.value
  const shape = JSON.stringify({ ...of, metrics: undefined, compare, interval: chartQuery.interval })
  const ask = compare === '' ? fleetLines : linesWithBefore
  const found = useNewestAnswer(`${compare} ${JSON.stringify(request)}`, { shape, revision }, (signal) =>
    ask(request, signal),
  )
  const { data } = found
  const unitOf = (name: string) => known.metrics.find(({ metric }) => metric === name)?.unit ?? undefined
  const charts = useMemo(
    () =>
      data &&
      answeredNames(names, data.metrics)?.map((metric) => ({
        key: metric,
        title: metric,
        unit: unitOf(metric),
        columns: columnsOf(data, metric, shown),
      })),
    [data, shape, names.join(), known.metrics.length],
  )
  const markers = useMarkers({ devices, group, isWanted: marksValue.value === 'on' }, chartQuery.whole)
  const linesMax = LIMITS.chartSeriesMax / (compare === '' ? 1 : 2)
  const named = new Set(data?.lines.flatMap(({ name, shiftMs }) => (shiftMs === undefined ? name : [])))
  const drawn = Math.min(named.size, linesMax)
  const [first = ''] = names
  return (
    <Page title={t('telemetry')}>
      <div class="stack" ref={chartQuery.place}>
        <RangeBar />
        <MetricPicker
          metrics={known.metrics}
          value={metricValue}
          chosen={names.map((metric) => ({ metric }))}
          isFree
        />
        <ChartOptions interval={chartQuery.interval}>
          <TextValue
            label={t('devices')}
            value={devices.join(',')}
            onValue={(typed) => devicesValue.set(splitList(typed), { replace: false })}
          />
          <TextValue
            label={t('group')}
            value={group}
            placeholder={t('anyGroup')}
            onValue={(typed) => groupValue.set(typed.trim(), { replace: false })}
          />
          <SelectField
            label={t('by')}
            value={byValue.value}
            onValue={byValue.set}
            options={[
              ['device', t('device')],
              ['group', t('whole')],
            ]}
          />
          <SelectField
            label={t('compare')}
            value={compare}
            onValue={compareValue.set}
            options={COMPARISONS.map((word) => [word, t(word === '' ? 'nothing' : word)] as const)}
          />
        </ChartOptions>
        {data !== undefined && byValue.value === 'device' && data.total > drawn && drawn > 0 && (
          <p class="hint">{t('shown', { shown: drawn, n: data.total })}</p>
        )}
        {names.length === 0 ? (
          <Empty title={known.isNothing ? t('none') : t('pick')}>
            {known.isNothing ? (
              <a href={pathOf('connect')}>{t('connectDevice')}</a>
            ) : (
              <>
                <p>{t('how')}</p>
                <ul class="row">
                  {known.metrics.slice(0, OFFERED_MAX).map(({ metric }) => (
                    <li key={metric}>
                      <Button onClick={() => metricValue.set([metric], { replace: false })}>
                        {plainText(metric)}
                      </Button>
                    </li>
                  ))}
                </ul>
              </>
            )}
          </Empty>
        ) : (
          <ChartList
            chartQuery={chartQuery}
            usedInterval={data?.interval}
            charts={charts}
            error={found.error}
            isLoading={found.isLoading}
            onRetry={() => setRevision(revision + 1)}
            markers={markers}
            strip={{
              key: JSON.stringify({ ...of, metrics: [first] }),
              load: async (range, signal) => {
                const lines = await fleetLines({ ...of, ...range, metrics: [first] }, signal)
                return columnsOf(lines, first, shown)
              },
            }}
            syncKey="explore"
          />
        )}
      </div>
    </Page>
  )
}

/** A device that was never heard has no metrics to offer. */
const HEARD = DEVICE_STATUSES.filter((status) => status !== 'provisioning' && status !== 'decommissioned')

/** Names to offer: the metrics of the first device that is meant. */
function useKnownMetrics(deviceId: string | undefined, group: string) {
  const first = useAnswer(
    'listDevices',
    {
      query: {
        per_page: 1,
        sort: 'updated_at:DESC',
        status: [HEARD.join(',')],
        ...(group === '' ? {} : { group }),
      },
    },
    { isWanted: deviceId === undefined },
  )
  const id = deviceId ?? first.data?.data[0]?.device_id
  const answer = useAnswer('listMetrics', { device_id: id ?? '-' }, { isWanted: id !== undefined })
  const metrics = answer.data?.data.filter(({ type }) => type === 'number' || type === 'boolean') ?? []
  return { metrics, isNothing: deviceId === undefined && group === '' && first.data?.total === 0 }
}
