// Counts by status, worst first; each is the way to its devices. The bars of all tiles have one scale, so that a small status
// looks small.
import { useMemo } from 'preact/hooks'
import { formatQuery, type Query } from '../../address/filter.ts'
import { onlyValue } from '../../address/filter-edit.ts'
import { pathOf } from '../../address/routes.ts'
import { STATUS } from '../../fleet/columns.ts'
import { STATUSES_WORST_FIRST } from '../../fleet/sort-rows.ts'
import { columns, fleetStats } from '../../live/fleet-index.ts'
import { StatusMark } from '../../parts/status-mark.tsx'
import { now } from '../../words/time.ts'
import { number } from '../../words/words.ts'
import { t } from './overview-words.ts'
import { BARS, barsOf, changeLately } from './trend.ts'
import { trendGroup, useFleetTrend } from './use-fleet-trend.ts'

const HEIGHT = 12
/** Fewer bars of half an hour are specks in a corner. */
const BARS_MIN = 4
const STATUSES = STATUSES_WORST_FIRST.filter((status) => status !== 'decommissioned')

export function Tiles({ rows, query }: { readonly rows: Uint32Array; readonly query: Query }) {
  const { trend, nowMs } = useFleetTrend(trendGroup(query))
  const bars = useMemo(() => trend && STATUSES.map((status) => barsOf(trend, status, nowMs)), [trend])
  const most = Math.max(1, ...(bars?.flat().map((value) => value ?? 0) ?? []))
  const counts = useMemo(() => countsOf(rows), [rows])
  const changes =
    trend &&
    STATUSES.map((status) =>
      changeLately(trend, status, { count: counts[STATUS[status]] ?? 0, nowMs: now.peek() }),
    )
  const hasChanges = changes?.some((change) => change !== undefined && change !== 0) === true
  // Before there is a trend its place is not kept: every tile would be half empty.
  const hasBars =
    bars?.some((values) => values.filter((value) => value !== undefined).length >= BARS_MIN) === true
  return (
    <ul class="tiles" aria-label={t('counts')}>
      {STATUSES.map((status, i) => {
        const count = counts[STATUS[status]] ?? 0
        const change = changes?.[i]
        return (
          <li key={status}>
            <a
              class="tile"
              href={pathOf('devices', {}, { q: formatQuery(onlyValue(query, 'status', status)) })}
            >
              <StatusMark status={status} />
              <strong class="tile-count">{number(count)}</strong>
              {hasChanges && (
                <span class="muted">{change ? t('moved', { n: signed(change) }) : '\u00a0'}</span>
              )}
              {hasBars && bars?.[i] !== undefined && <Bars values={bars[i]} most={most} />}
            </a>
          </li>
        )
      })}
      <Pulse />
    </ul>
  )
}

/** How much comes in, and whether it is kept up with. Unknown to whom is limited to groups. */
function Pulse() {
  const stats = fleetStats.value
  if (stats === undefined || stats.messages_per_sec === null) return null
  return (
    <li>
      <a class="tile" href={pathOf('system')}>
        <span>{t('rate')}</span>
        <strong class="tile-count">{number(stats.messages_per_sec, { maximumFractionDigits: 0 })}</strong>
        <span class="muted">
          {stats.ingest_lag_ms === null
            ? t('lagUnknown')
            : t('lag', { ms: number(stats.ingest_lag_ms, { maximumFractionDigits: 0 }) })}
        </span>
      </a>
    </li>
  )
}

const signed = (change: number) => number(change, { signDisplay: 'always' })

function countsOf(rows: Uint32Array): readonly number[] {
  const counts: number[] = []
  for (const row of rows) {
    const status = columns.status[row] ?? 0
    counts[status] = (counts[status] ?? 0) + 1
  }
  return counts
}

/** Decoration: the number above it says what is now, and the list behind it who. */
function Bars({ values, most }: { readonly values: readonly (number | undefined)[]; readonly most: number }) {
  const path = values
    .map((value, i) => {
      if (value === undefined) return ''
      const height = value === 0 ? 0 : Math.max(1, (value / most) * HEIGHT)
      return `M${i} ${HEIGHT}v${-height}h.8v${height}z`
    })
    .join('')
  return (
    <svg class="tile-bars" viewBox={`0 0 ${BARS} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <title>{t('day')}</title>
      <path d={path} />
    </svg>
  )
}
