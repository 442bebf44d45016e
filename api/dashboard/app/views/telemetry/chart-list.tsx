// The charts of a page over one time range, what went wrong with them, what happened meanwhile, and the longer time around.
import type { Interval } from '../../../../../schemas/vocabulary.ts'
import { Chart } from '../../charts/chart.tsx'
import type { Columns } from '../../charts/columns.ts'
import type { Threshold } from '../../charts/marker.ts'
import { Skeleton } from '../../parts/answer-area.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { timeRange } from '../../parts/range-bar.tsx'
import { words } from '../../words/words.ts'
import { MarkerList } from './marker-list.tsx'
import { OverviewStrip, type StripSource } from './overview-strip.tsx'
import './telemetry.css'
import { type ChartQuery, logValue, tableValue } from './telemetry-values.ts'
import type { FoundMarkers } from './use-markers.ts'

const t = words({
  noted: [
    'Buckets of {asked} would be too many for this range, so {given} is used.',
    'Zeitschritte von {asked} wären zu viele gewesen, daher sind es {given}.',
  ],
})

export interface ChartOf {
  readonly key: string
  readonly title: string
  readonly unit?: string | undefined
  readonly columns: Columns
  readonly thresholds?: readonly Threshold[]
}

export interface ChartListProps {
  readonly chartQuery: ChartQuery
  /** The interval that the service gave. */
  readonly usedInterval: Interval | undefined
  /** Undefined until the first answer. */
  readonly charts: readonly ChartOf[] | undefined
  readonly error: unknown
  readonly isLoading: boolean
  readonly onRetry: () => void
  readonly markers: FoundMarkers
  readonly strip: StripSource
  readonly syncKey: string
}

export function ChartList(props: ChartListProps) {
  const { chartQuery, usedInterval, charts, error, isLoading, onRetry, markers, strip, syncKey } = props
  const isLive = timeRange.value.kind === 'live'
  return (
    <>
      {usedInterval !== undefined && usedInterval !== chartQuery.interval && (
        <p class="hint" role="status">
          {t('noted', { asked: chartQuery.interval, given: usedInterval })}
        </p>
      )}
      {error !== undefined && <ProblemCard error={error} onRetry={onRetry} />}
      {charts === undefined && error === undefined && <Skeleton />}
      <div class={isLoading && !isLive ? 'stack updating' : 'stack'} aria-busy={isLoading ? 'true' : 'false'}>
        {charts?.map(({ key, title, unit, columns, thresholds }) => (
          <section key={key} class="card">
            <Chart
              title={title}
              unit={unit}
              columns={columns}
              span={chartQuery.span}
              {...(thresholds === undefined ? {} : { thresholds })}
              markers={markers.list}
              isLog={logValue.value}
              hasTable={tableValue.value}
              syncKey={syncKey}
              onRange={timeRange.set}
            />
          </section>
        ))}
      </div>
      {charts !== undefined && charts.length > 0 && <OverviewStrip source={strip} span={chartQuery.span} />}
      <MarkerList markers={markers} span={chartQuery.span} />
    </>
  )
}
