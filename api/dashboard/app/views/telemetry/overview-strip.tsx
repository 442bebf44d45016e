// The time around the range of the charts: where it lies in it, and another one by dragging, or by the keys of any chart.
import type { Interval } from '../../../../../schemas/vocabulary.ts'
import { aroundSpan, intervalFor, type Span } from '../../address/time-range.ts'
import { Chart } from '../../charts/chart.tsx'
import type { Columns } from '../../charts/columns.ts'
import { useNewestAnswer } from '../../data/newest-answer.ts'
import { ProblemCard } from '../../parts/problem-card.tsx'
import { timeRange } from '../../parts/range-bar.tsx'
import { now } from '../../words/time.ts'
import { words } from '../../words/words.ts'
import { wholeBuckets } from './telemetry-values.ts'

const t = words({ title: ['Time around it', 'Zeit ringsum'] })

/** Finer than that, a strip of this height shows nothing more. */
const BUCKETS_ACROSS = 200
const HEIGHT_PX = 96

export interface StripSource {
  /** What it shows: with another one, the earlier line goes. */
  readonly key: string
  readonly load: (range: Span & { readonly interval: Interval }, signal: AbortSignal) => Promise<Columns>
}

export function OverviewStrip({ source, span }: { readonly source: StripSource; readonly span: Span }) {
  const around = aroundSpan(span, now.peek())
  const interval = intervalFor(around, BUCKETS_ACROSS / 2)
  const whole = wholeBuckets(around, interval)
  const request = { ...whole, interval }
  const found = useNewestAnswer(
    `${source.key} ${JSON.stringify(request)}`,
    { shape: source.key, revision: 0 },
    (signal) => source.load(request, signal),
  )
  if (found.error !== undefined) return <ProblemCard error={found.error} />
  if (found.data === undefined) return null
  return (
    <section class="card">
      <Chart
        title={t('title')}
        columns={found.data}
        span={whole}
        chosen={span}
        height={HEIGHT_PX}
        syncKey={`around ${source.key}`}
        onRange={timeRange.set}
      />
    </section>
  )
}
