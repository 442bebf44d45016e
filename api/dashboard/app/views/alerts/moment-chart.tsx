// A value of one device around the moments at which a rule judged it, with the lines that it must not cross.
import { useMemo, useState } from 'preact/hooks'
import { INTERVAL_SECONDS } from '../../../../../schemas/vocabulary.ts'
import { fixedRange, intervalFor, type Span, spanOf } from '../../address/time-range.ts'
import { Chart } from '../../charts/chart.tsx'
import { toColumns } from '../../charts/columns.ts'
import type { Marker, Threshold } from '../../charts/marker.ts'
import { useHistories } from '../../data/histories.ts'
import { Button } from '../../parts/button.tsx'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { number, words } from '../../words/words.ts'
import type { JudgedMetric } from './condition-metric.ts'

const t = words({
  title: ['{metric} of {device}', '{metric} von {device}'],
  limit: ['limit {value}', 'Grenze {value}'],
  whole: ['Show whole period', 'Alles zeigen'],
})

/** Narrower than most pages are wide, which is fine enough for a look. */
const POINTS_ACROSS = 600

export interface MomentChartProps {
  readonly deviceId: string
  readonly judged: JudgedMetric
  readonly span: Span
  readonly markers: readonly Marker[]
}

export function MomentChart({ deviceId, judged: { metric, limits }, span, markers }: MomentChartProps) {
  const whole = `${deviceId} ${metric} ${span.fromMs} ${span.toMs}`
  const [zoom, setZoom] = useState<{ readonly of: string; readonly span: Span } | undefined>(undefined)
  const isZoomed = zoom?.of === whole
  const { fromMs, toMs } = isZoomed ? zoom.span : span
  const interval = intervalFor({ fromMs, toMs }, POINTS_ACROSS)
  const histories = useHistories(
    [{ deviceId, metrics: [metric], fromMs, toMs, interval, aggregates: ['avg', 'min', 'max'] }],
    { shape: whole, revision: 0 },
  )
  const columns = useMemo(() => {
    const [history] = histories.data ?? []
    const given = history?.interval ?? interval
    const buckets = history?.series.get(metric) ?? []
    return toColumns([{ name: metric, buckets, shown: 'avg', hasBand: true }], INTERVAL_SECONDS[given] * 1000)
  }, [histories.data, metric, interval])
  const thresholds = useMemo(
    () =>
      limits.map((value): Threshold => {
        return { value, severity: 'critical', text: t('limit', { value: number(value) }) }
      }),
    [JSON.stringify(limits)],
  )
  return (
    <div class="stack">
      {histories.error !== undefined && <ProblemCard error={histories.error} />}
      <Chart
        title={t('title', { metric, device: deviceId })}
        columns={columns}
        span={{ fromMs, toMs }}
        thresholds={thresholds}
        markers={markers}
        height={200}
        syncKey={`moment ${whole}`}
        onRange={(range) => setZoom({ of: whole, span: spanOf(range, span.toMs) })}
      />
      {isZoomed && (
        <p>
          <Button onClick={() => setZoom(undefined)}>{t('whole')}</Button>
        </p>
      )}
    </div>
  )
}

/** Both ends of a fixed range around some moments, with some time before and after them. */
export function spanAround(moments: readonly number[], padMs: number): Span {
  const range = fixedRange(Math.min(...moments) - padMs, Math.max(...moments) + padMs)
  return spanOf(range, 0)
}
