// The whole fleet on one screen (4.1): counts, the map, what needs a person, and the pulse of the service.
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { oneOf, text, whole } from '../../address/codecs.ts'
import { parseQuery } from '../../address/filter.ts'
import { attentionCases } from '../../fleet/attention.ts'
import { matchingRows } from '../../fleet/filter-rows.ts'
import { blocksOf } from '../../fleet/heat-map.ts'
import { columns, fleetState, fleetVersion, ranks } from '../../live/fleet-index.ts'
import { connection } from '../../live/live.ts'
import { newsTimeMs } from '../../live/news-time.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { FilterField } from '../../parts/filter-field.tsx'
import { FleetArea } from '../../parts/fleet-area.tsx'
import { later } from '../../parts/later.tsx'
import { isNarrow } from '../../parts/narrow.ts'
import { Page } from '../../parts/page.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { TextValue } from '../../parts/text-value.tsx'
import { now } from '../../words/time.ts'
import { AttentionList } from './attention-list.tsx'
import { GroupTable } from './group-table.tsx'
import { HeatMap } from './heat-map.tsx'
import { COLOURINGS } from './map-colours.ts'
import './overview.css'
import { DayChart } from './day-chart.tsx'
import { t } from './overview-words.ts'
import { ServiceStrip } from './service-strip.tsx'
import { Tiles } from './tiles.tsx'
import { trendGroup } from './use-fleet-trend.ts'
import { useMapMetric } from './use-map-metric.ts'
import { versionColouring } from './version-fills.ts'

const filter = queryValue('q', text())
const depthValue = queryValue('depth', whole(2, 1, 8))
const colourValue = queryValue('colour', oneOf(COLOURINGS, 'status'))
const metricValue = queryValue('metric', text('', 256))
const asValue = queryValue('as', oneOf(['map', 'table'], 'map'))
const peeked = queryValue('peek', text('', 64))

const Peek = later(async () => (await import('../../parts/peek.tsx')).Peek)
const SelectionBar = later(async () => (await import('../devices/selection-bar.tsx')).SelectionBar)

const Summary = later(async () => (await import('./summary.tsx')).Summary)

const AGES_EVERY_MS = 10_000

export default function Overview() {
  const isReady = fleetState.value.state === 'ready' && fleetVersion.value > 0
  return (
    <Page title={t('title')} mark={isReady && <span class="muted">{t('devices', { n: columns.size })}</span>}>
      <FleetArea summary={(total) => <Summary total={total} />}>
        <Fleet />
      </FleetArea>
      <ServiceStrip />
    </Page>
  )
}

function Fleet() {
  const q = filter.value
  const version = fleetVersion.value
  const moment = Math.floor(now.value / AGES_EVERY_MS)
  const depth = depthValue.value
  const isTable = asValue.value === 'table' || isNarrow.value
  const { rows, query } = useMemo(() => {
    const parsed = parseQuery(q)
    return { query: parsed, rows: matchingRows(parsed, { columns, nowMs: now.peek() }) }
  }, [q, version, moment])
  const blocks = useMemo(() => blocksOf({ columns, ranks, rows, depth }), [rows, depth])
  const counted = () => blocks.map((block) => ({ ...block, total: block.rows.length }))
  const newsMs = () => newsTimeMs(connection.peek(), { nowMs: now.peek(), browserMs: Date.now() })
  const cases = useMemo(() => attentionCases({ columns, nowMs: newsMs() }), [version, moment])
  const metric = useMapMetric(!isTable && colourValue.value === 'metric' ? metricValue.value : '')
  const isByVersion = !isTable && colourValue.value === 'fw'
  const versions = useMemo(
    () => (isByVersion ? versionColouring(columns, rows) : undefined),
    [isByVersion, rows],
  )
  const selected = useSignal<ReadonlySet<string>>(new Set())
  const flip = () => asValue.set(isTable ? 'map' : 'table')
  useShortcuts([
    { keys: 'v', says: isTable ? t('asMap') : t('asTable'), run: flip },
    {
      keys: 'Escape',
      says: t('keyEnd'),
      run: () => {
        if (peeked.value !== '') peeked.set('')
        else selected.value = new Set()
      },
    },
  ])
  return (
    <div class="overview">
      <FilterField text={q} onText={(next) => filter.set(next)} />
      <Tiles rows={rows} query={query} />
      <section class="card overview-map" aria-labelledby="map">
        <header class="map-head">
          <h2 id="map">{t('map')}</h2>
          <SelectField
            label={t('depth')}
            value={String(depth)}
            options={['1', '2', '3', '4'].map((level) => [level, level])}
            onValue={(level) => depthValue.set(Number(level))}
          />
          {!isTable && (
            <SelectField
              label={t('colour')}
              value={colourValue.value}
              options={COLOURINGS.map((name) => [name, t(name)])}
              onValue={(name) => colourValue.set(name)}
            />
          )}
          {!isTable && colourValue.value === 'metric' && (
            <TextValue
              label={t('metricName')}
              value={metricValue.value}
              placeholder="battery.percent"
              onValue={(name) => metricValue.set(name.trim())}
            />
          )}
          {!isNarrow.value && (
            <Button icon={isTable ? 'grid-3x3' : 'list'} onClick={flip}>
              {isTable ? t('asMap') : t('asTable')}
            </Button>
          )}
        </header>
        {metric.error !== undefined && <ProblemCard error={metric.error} onRetry={metric.reload} />}
        {rows.length === 0 ? (
          <Empty title={t('nothing')} />
        ) : isTable ? (
          <GroupTable blocks={counted()} />
        ) : (
          <HeatMap
            blocks={blocks}
            colouring={colourValue.value}
            metric={metric.colouring}
            versions={versions}
            selected={selected.value}
            onSelect={(ids) => {
              selected.value = new Set(ids)
            }}
            onPeek={(id) => peeked.set(id)}
            onTable={flip}
            fallback={<GroupTable blocks={counted()} />}
          />
        )}
        {selected.value.size > 0 && (
          <SelectionBar
            selected={selected}
            rows={rows}
            onAll={() => {
              selected.value = new Set(Array.from(rows, (row) => columns.ids[row] ?? ''))
            }}
          />
        )}
      </section>
      {peeked.value === '' ? (
        <AttentionList cases={cases} />
      ) : (
        <Peek key={peeked.value} id={peeked.value} onClose={() => peeked.set('')} />
      )}
      <DayChart group={trendGroup(query)} />
    </div>
  )
}
