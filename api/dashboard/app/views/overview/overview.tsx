// The whole fleet on one screen (4.1): counts, the map, what needs a person, and the pulse of the service.
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { oneOf, text } from '../../address/codecs.ts'
import { parseQuery } from '../../address/filter.ts'
import { attentionCases } from '../../fleet/attention.ts'
import { matchingRows } from '../../fleet/filter-rows.ts'
import { columns, fleetState, fleetVersion } from '../../live/fleet-index.ts'
import { heardUntilMs } from '../../live/heard-until.ts'
import { connection } from '../../live/live.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { FilterField } from '../../parts/filter-field.tsx'
import { FleetArea } from '../../parts/fleet-area.tsx'
import { later } from '../../parts/later.tsx'
import { isNarrow } from '../../parts/narrow.ts'
import { NoMatch } from '../../parts/no-match.tsx'
import { Page } from '../../parts/page.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { now } from '../../words/time.ts'
import { AttentionList } from './attention-list.tsx'
import { DayChart } from './day-chart.tsx'
import { FleetMap } from './fleet-map.tsx'
import './overview.css'
import { t } from './overview-words.ts'
import { ServiceStrip } from './service-strip.tsx'
import { Tiles } from './tiles.tsx'
import { trendGroup } from './use-fleet-trend.ts'

const filter = queryValue('q', text())
const asValue = queryValue('as', oneOf(['map', 'table'], 'map'))
const peeked = queryValue('peek', text('', 64))

const Peek = later(async () => (await import('../../parts/peek.tsx')).Peek)
const SelectionBar = later(async () => (await import('../selection/selection-bar.tsx')).SelectionBar)

const Summary = later(async () => (await import('./summary.tsx')).Summary)

const AGES_EVERY_MS = 10_000

export default function Overview() {
  const isReady = fleetState.value.state === 'ready' && fleetVersion.value > 0
  return (
    <Page
      title={t('overview')}
      mark={isReady && <span class="muted">{t('devices', { n: columns.size })}</span>}
    >
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
  const isTable = asValue.value === 'table' || isNarrow.value
  const { rows, query } = useMemo(() => {
    const parsed = parseQuery(q)
    return { query: parsed, rows: matchingRows(parsed, { columns, nowMs: now.peek() }) }
  }, [q, version, moment])
  const newsMs = () => heardUntilMs(connection.peek(), { nowMs: now.peek(), browserMs: Date.now() })
  const cases = useMemo(() => attentionCases({ columns, nowMs: newsMs() }), [version, moment])
  const selected = useSignal<ReadonlySet<string>>(new Set())
  const flip = () => asValue.set(isTable ? 'map' : 'table')
  useShortcuts([
    { keys: 'v', label: isTable ? t('asMap') : t('asTable'), run: flip },
    {
      keys: 'Escape',
      label: t('keyEnd'),
      run: () => {
        if (peeked.value === '' && selected.value.size === 0) return false
        if (peeked.value !== '') peeked.set('')
        else selected.value = new Set()
        return true
      },
    },
  ])
  return (
    <div class="overview">
      <FilterField text={q} onText={(next) => filter.set(next)} />
      <Tiles rows={rows} query={query} />
      {rows.length === 0 ? (
        <section class="card">
          <NoMatch query={query} onText={(next) => filter.set(next)} />
        </section>
      ) : (
        <FleetMap
          rows={rows}
          selected={selected}
          isTable={isTable}
          onFlip={flip}
          flipText={isTable ? t('asMap') : t('asTable')}
          onPeek={(id) => peeked.set(id)}
        >
          {selected.value.size > 0 && (
            <SelectionBar
              selected={selected}
              rows={rows}
              onAll={() => {
                selected.value = new Set(Array.from(rows, (row) => columns.ids[row] ?? ''))
              }}
            />
          )}
        </FleetMap>
      )}
      {peeked.value === '' ? (
        <AttentionList cases={cases} />
      ) : (
        <Peek key={peeked.value} id={peeked.value} onClose={() => peeked.set('')} />
      )}
      <DayChart group={trendGroup(query)} />
    </div>
  )
}
