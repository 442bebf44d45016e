// What the address says of a page of charts, and what follows from it: the same for one device and for many.
import type { RefObject } from 'preact'
import { useRef } from 'preact/hooks'
import { AGGREGATES, INTERVAL_SECONDS, INTERVALS, type Interval } from '../../../../../schemas/vocabulary.ts'
import { flag, oneOf, words as wordsOf } from '../../address/codecs.ts'
import { intervalFor, type Span } from '../../address/time-range.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { useSpan } from '../../parts/range-bar.tsx'
import { useWidth } from './use-width.ts'

export const metricValue = queryValue('metric', wordsOf())
export const intervalValue = queryValue('interval', oneOf<'auto' | Interval>(['auto', ...INTERVALS], 'auto'))
export const aggregateValue = queryValue('agg', oneOf(AGGREGATES, 'avg'))
export const logValue = queryValue('log', flag)
export const tableValue = queryValue('table', flag)
export const marksValue = queryValue('marks', oneOf(['on', 'off'], 'on'))

export interface ChartQuery {
  /** Where the charts are: their width decides on the interval. */
  readonly place: RefObject<HTMLDivElement | null>
  readonly span: Span
  readonly interval: Interval
  /** Whole buckets, so that a range that moves asks for the same ones until a new one begins. */
  readonly whole: Span
}

/** The range and the interval that the address asks for. */
export function useChartQuery(): ChartQuery {
  const place = useRef<HTMLDivElement>(null)
  const width = useWidth(place)
  const span = useSpan()
  const interval = intervalValue.value === 'auto' ? intervalFor(span, width) : intervalValue.value
  return { place, span, interval, whole: wholeBuckets(span, interval) }
}

export function wholeBuckets({ fromMs, toMs }: Span, interval: Interval): Span {
  const stepMs = INTERVAL_SECONDS[interval] * 1000
  return { fromMs: Math.floor(fromMs / stepMs) * stepMs, toMs: Math.ceil(toMs / stepMs) * stepMs }
}
