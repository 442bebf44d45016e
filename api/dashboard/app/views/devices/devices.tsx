// The list of all devices (4.2): filter, counts, order, preview and selection. All of it but the selection is the address.
import { useSignal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { flag, oneOf, text, whole } from '../../address/codecs.ts'
import {
  type ColumnChoice,
  columnChoices,
  metaOf,
  metricOf,
  readColumns,
  writeColumns,
} from '../../address/column-choices.ts'
import { pathOf } from '../../address/routes.ts'
import { may } from '../../data/access.ts'
import { useAnswer } from '../../data/answers.ts'
import { preferences, setPreference } from '../../data/preferences.ts'
import { LIMITS } from '../../limits.ts'
import { columns, fleetState, fleetVersion } from '../../live/fleet-index.ts'
import { useMetricColumns } from '../../live/metric-columns.ts'
import { rememberDevices } from '../../navigation/device-list.ts'
import { navigate, queryValue } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { copyLink } from '../../parts/clipboard.ts'
import { FilterField } from '../../parts/filter-field.tsx'
import { FleetArea } from '../../parts/fleet-area.tsx'
import { later } from '../../parts/later.tsx'
import { isNarrow } from '../../parts/narrow.ts'
import { NoMatch } from '../../parts/no-match.tsx'
import { Page } from '../../parts/page.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { SelectField } from '../../parts/select-field.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { StatusMark } from '../../parts/status-mark.tsx'
import { VirtualGrid } from '../../parts/virtual-grid.tsx'
import { ColumnDialog } from './column-dialog.tsx'
import { DEFAULT_COLUMNS, isColumnId } from './column-ids.ts'
import { gridColumn, LastSeen, MetricCell, type MoreColumns, nameAt } from './device-columns.tsx'
import { useDeviceList } from './device-list.ts'
import { t } from './device-words.ts'
import { useMetadata } from './metadata.ts'
import './devices.css'
import { CheckField } from '../../parts/check-field.tsx'
import { FacetPanel } from './facet-panel.tsx'
import { useColumnWidths } from './use-column-widths.ts'
import { useSparks } from './use-sparks.ts'

const Peek = later(async () => (await import('../../parts/peek.tsx')).Peek)
const SelectionBar = later(async () => (await import('../selection/selection-bar.tsx')).SelectionBar)

const FleetMap = later(async () => (await import('../overview/fleet-map.tsx')).FleetMap)
const DevicePlan = later(async () => (await import('./device-plan.tsx')).DevicePlan)

const SummaryList = later(async () => (await import('./summary-list.tsx')).SummaryList)

const filter = queryValue('q', text())
/** A leading "-" turns the order around. */
const sortValue = queryValue('sort', text('attention', 64))
const columnsValue = queryValue('cols', columnChoices(DEFAULT_COLUMNS, isColumnId))
const pinnedValue = queryValue('pin', whole(0, 0, LIMITS.pinnedColumnsMax))
const namedColumns = queryValue('cols', text())
/** Rows go to their new place at once, also under the pointer. */
const followValue = queryValue('follow', flag)
const peeked = queryValue('peek', text('', 64))
const VIEWS = ['list', 'map', 'plan'] as const
const viewValue = queryValue('view', oneOf(VIEWS, 'list'))

export default function Devices() {
  const { state } = fleetState.value
  const total = fleetVersion.value === 0 ? 0 : columns.size
  return (
    <Page
      title={t('title')}
      mark={state === 'ready' ? <span class="muted">{t('all', { n: total })}</span> : undefined}
      actions={
        <>
          <Button icon="link" onClick={() => void copyLink(location.href)}>
            {t('copyLink')}
          </Button>
          {may('registerDevice') && (
            <a class="button button-primary" href={pathOf('connect')}>
              {t('connect')}
            </a>
          )}
        </>
      }
    >
      <FleetArea summary={(total) => <SummaryList total={total} />}>
        <List />
      </FleetArea>
    </Page>
  )
}

function List() {
  const q = filter.value
  const isDescending = sortValue.value.startsWith('-')
  const sort = { by: sortValue.value.replace(/^-/, ''), isDescending }
  const chosen = columnsValue.value
  const metrics = chosen.flatMap(({ id }) => metricOf(id) ?? [])
  const hasMore = chosen.some(({ id }) => id === 'reason' || metaOf(id) !== undefined)
  const [inSight, setInSight] = useState<readonly string[]>([])
  const loaded = useMetricColumns(metrics, inSight)
  const metadata = useMetadata(inSight, hasMore)
  const types = useAnswer('listDeviceTypes', {}, { isWanted: metrics.length > 0 })
  const sparks = useSparks(metrics, inSight)
  const widths = useColumnWidths()
  const more = { values: loaded.values, types: types.data?.data ?? [], metadata, sparks }
  const list = useDeviceList(q, sort, { loaded, isFollowing: followValue.value })
  const { rows, query, facets } = list
  const onSight = useInSight(rows, setInSight)
  usePreferredColumns()
  const [active, setActive] = useState(0)
  const newest = useRef(rows)
  newest.current = rows
  // Who goes on to a device walks along this list there with `[` and `]`.
  useEffect(() => () => rememberDevices(Array.from(newest.current, (row) => columns.ids[row] ?? '')), [])
  const selected = useSignal<ReadonlySet<string>>(new Set())
  const lastToggled = useRef(0)
  const isChoosing = useSignal(false)
  const peekId = peeked.value
  const idAt = (place: number) => columns.ids[rows[place] ?? -1]
  const place = Math.min(active, Math.max(0, rows.length - 1))
  useEffect(() => setActive(0), [q, sort.by, isDescending])
  const view = viewValue.value
  const setText = (next: string) => filter.set(next)
  const peek = (id: string) => peeked.set(id)
  const moveTo = (next: number) => {
    setActive(next)
    const id = idAt(next)
    // The preview moves along.
    if (peeked.value !== '' && id !== undefined) peeked.set(id)
  }
  const step = (by: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, place + by))
    moveTo(next)
    focusPlace(next)
  }
  const toggle = (at: number, isRange: boolean) => {
    const next = new Set(selected.peek())
    const id = idAt(at)
    if (id === undefined) return
    if (isRange) {
      const [from, to] = [Math.min(lastToggled.current, at), Math.max(lastToggled.current, at)]
      for (let i = from; i <= to; i++) next.add(idAt(i) ?? id)
    } else if (!next.delete(id)) next.add(id)
    lastToggled.current = at
    selected.value = next
  }
  const selectAll = () => {
    selected.value = new Set(Array.from(rows, (row) => columns.ids[row] ?? ''))
  }
  useShortcuts([
    { keys: 'j', label: t('keyNext'), run: () => step(1) },
    { keys: 'k', label: t('keyBefore'), run: () => step(-1) },
    { keys: 'x', label: t('keySelect'), run: () => toggle(place, false) },
    { keys: 'X', label: t('keyRange'), run: () => toggle(place, true) },
    { keys: '* a', label: t('keyAll'), run: selectAll },
    { keys: 'v', label: t('keyView'), run: () => viewValue.set(view === 'list' ? 'map' : 'list') },
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
    <div class="devices">
      <FilterField text={q} onText={setText} metrics={metrics} />
      {isNarrow.value ? (
        <details class="facets-sheet">
          <summary>{t('filters')}</summary>
          <FacetPanel facets={facets} query={query} onText={setText} />
        </details>
      ) : (
        <FacetPanel facets={facets} query={query} onText={setText} />
      )}
      <div class="devices-list">
        <div class="devices-bar">
          <span role="status">
            {rows.length < columns.size && t('some', { n: rows.length, total: columns.size })}
          </span>
          {list.movedCount > 0 && (
            <Button kind="quiet" icon="refresh-cw" onClick={list.resort}>
              {t('resort', { n: list.movedCount })}
            </Button>
          )}
          {!isNarrow.value && view === 'list' && (
            <CheckField label={t('follow')} isOn={followValue.value} onValue={followValue.set} />
          )}
          {!isNarrow.value && view === 'list' && (
            <Button
              kind="quiet"
              icon="columns-3"
              onClick={() => {
                isChoosing.value = true
              }}
            >
              {t('columns')}
            </Button>
          )}
          <SelectField
            label={t('view')}
            value={view}
            options={VIEWS.map((name) => [name, t(`view-${name}`)])}
            onValue={viewValue.set}
          />
        </div>
        {loaded.error !== undefined && <ProblemCard error={loaded.error} onRetry={loaded.reload} />}
        {selected.value.size > 0 && <SelectionBar selected={selected} rows={rows} onAll={selectAll} />}
        {rows.length === 0 ? (
          <NoMatch query={query} onText={setText} metrics={loaded.columns} />
        ) : view === 'map' ? (
          <FleetMap
            rows={rows}
            selected={selected}
            isTable={isNarrow.value}
            onFlip={() => viewValue.set('list')}
            flipText={t('asList')}
            onPeek={peek}
          />
        ) : view === 'plan' ? (
          <DevicePlan rows={rows} selected={selected} onPeek={peek} />
        ) : (
          <VirtualGrid
            label={t('grid')}
            columns={chosen.map((choice) => gridColumn(choice, more, widths))}
            rows={rows}
            nameOf={nameAt}
            keyOf={(row) => columns.ids[row] ?? ''}
            card={(row) => cardAt(row, metrics.slice(0, CARD_VALUES), more)}
            onSwipe={(place, isRight) => {
              if (isRight) toggle(place, false)
              else peeked.set(idAt(place) ?? '')
            }}
            sort={sort}
            onSort={(by) => sortValue.set(sort.by === by && !isDescending ? `-${by}` : by)}
            active={place}
            onActive={moveTo}
            onOpen={(row) => navigate(pathOf('device', { device_id: columns.ids[row] ?? '' }))}
            onPeek={(row) => {
              const id = columns.ids[row] ?? ''
              peeked.set(peekId === id ? '' : id)
            }}
            selection={{ has: (row) => selected.value.has(columns.ids[row] ?? ''), onToggle: toggle }}
            onHold={list.onHold}
            isNarrow={isNarrow.value}
            pinned={pinnedValue.value}
            onWidth={(id, widthPx) =>
              choose(chosen.map((choice) => (choice.id === id ? { id, widthPx } : choice)))
            }
            onSight={onSight}
          />
        )}
      </div>
      {peekId !== '' && <Peek key={peekId} id={peekId} onClose={() => peeked.set('')} />}
      {isChoosing.value && (
        <ColumnDialog
          chosen={chosen}
          sample={columns.ids[rows.find(wasHeard) ?? -1]}
          pinned={pinnedValue.value}
          onPinned={pin}
          onChosen={choose}
          onClose={() => {
            isChoosing.value = false
          }}
        />
      )}
    </div>
  )
}

/** A device that was never heard has no metrics to offer. */
const wasHeard = (row: number) => (columns.seen[row] ?? 0) > 0

/** Chosen columns are the address, and the usual ones from now on. */
function choose(choices: readonly ColumnChoice[]): void {
  columnsValue.set(choices)
  setPreference('deviceColumns', writeColumns(choices))
}

function pin(count: number): void {
  pinnedValue.set(count)
  setPreference('devicePins', count)
}

/** An address that names no columns shows those that the person chose last, and names them. */
function usePreferredColumns(): void {
  const { deviceColumns, devicePins } = preferences.value
  const isNamed = namedColumns.value !== ''
  useEffect(() => {
    if (isNamed) return
    const choices = readColumns(deviceColumns, isColumnId)
    if (devicePins > 0) pinnedValue.set(devicePins)
    if (choices.length > 0) columnsValue.set(choices)
  }, [deviceColumns, devicePins, isNamed])
}

const SETTLED_MS = 200

/** The devices in sight, once scrolling has settled. */
function useInSight(rows: Uint32Array, onIds: (ids: readonly string[]) => void) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return (from: number, to: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(
      () => onIds(Array.from(rows.subarray(from, to), (row) => columns.ids[row] ?? '').sort()),
      SETTLED_MS,
    )
  }
}

/** A card has room for no more values. */
const CARD_VALUES = 2

function cardAt(row: number, metrics: readonly string[], more: MoreColumns) {
  const id = columns.ids[row] ?? ''
  return (
    <>
      <span class="card-line">
        <a class="grid-name" href={pathOf('device', { device_id: id })} tabIndex={-1}>
          {nameAt(row)}
        </a>
        <StatusMark status={columns.statusAt(row)} />
      </span>
      <span class="card-line muted">
        <code>{id}</code>
        <LastSeen row={row} />
      </span>
      <span class="card-line muted">
        <span class="card-group">{plainText(columns.groups.at(columns.group[row] ?? 0))}</span>
        {metrics.map((metric) => (
          <MetricCell key={metric} row={row} metric={metric} more={more} />
        ))}
        <Button
          kind="quiet"
          icon="eye"
          label={t('preview', { name: nameAt(row) })}
          onClick={() => peeked.set(id)}
        />
      </span>
    </>
  )
}

function focusPlace(place: number): void {
  requestAnimationFrame(() => {
    const row = document.querySelector(`.grid [data-place="${place}"]`)
    if (!(row instanceof HTMLElement)) return
    row.focus({ preventScroll: true })
    row.scrollIntoView({ block: 'nearest' })
  })
}
