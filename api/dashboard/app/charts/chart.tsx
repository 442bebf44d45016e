// A line chart: uPlot, and what it lacks: it follows the size of its place and the theme, its cursor can be moved by keys and
// speaks, a range can be chosen by keys and buttons as by dragging, and a table says the same. It is destroyed with its
// component.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import type { TimeRange } from '../address/time-range.ts'
import { fixedRange, type Span, scaled } from '../address/time-range.ts'
import { plainText } from '../parts/plain-text.ts'
import { exactInstant, instant } from '../words/time.ts'
import { number, words } from '../words/words.ts'
import { ChartLegend } from './chart-legend.tsx'
import { ChartTable } from './chart-table.tsx'
import './charts.css'
import { colourReader, useTheme } from './colours.ts'
import type { Columns } from './columns.ts'
import { type CursorKeys, useCursorKeys } from './cursor-keys.ts'
import type { Marker, Threshold } from './marker.ts'
import { plotData, plotOptions } from './plot-options.ts'

const t = words({
  keys: [
    'Arrow keys move the cursor, with Shift they choose a range, Enter zooms into it, minus zooms out.',
    'Pfeiltasten bewegen den Zeiger, mit Umschalt wählen sie einen Bereich, Eingabe zoomt hinein, Minus heraus.',
  ],
  empty: ['No values in this range.', 'Keine Werte in diesem Zeitraum.'],
  at: ['{time}: {values}', '{time}: {values}'],
  from: ['{time}, {n} points chosen', '{time}, {n} Punkte gewählt'],
})

export interface ChartProps {
  readonly title: string
  readonly unit?: string | undefined
  readonly columns: Columns
  readonly span: Span
  readonly thresholds?: readonly Threshold[]
  readonly markers?: readonly Marker[]
  /** The part of the span that other charts show. */
  readonly chosen?: Span
  readonly isLog?: boolean
  readonly hasTable?: boolean
  readonly height?: number
  readonly syncKey?: string
  readonly onRange: (range: TimeRange) => void
}

const NONE: readonly never[] = []

export function Chart(props: ChartProps) {
  const {
    title,
    unit,
    columns,
    span,
    isLog = false,
    hasTable = false,
    height = 240,
    syncKey = 'fleet',
    onRange,
  } = props
  const { thresholds = NONE, markers = NONE, chosen } = props
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const newest = useRef({ columns, span, thresholds, markers, chosen, onRange })
  newest.current = { columns, span, thresholds, markers, chosen, onRange }
  const [cursor, setCursor] = useState<number | undefined>(undefined)
  const theme = useTheme()
  const id = useId()
  const shape = JSON.stringify([
    columns.lines.map(({ name, band }) => [name, band !== undefined]),
    isLog,
    theme,
  ])

  useEffect(() => {
    const element = place.current
    if (element === null) return
    const colour = colourReader(element)
    const made = new uPlot(
      plotOptions({
        width: Math.max(120, element.clientWidth),
        height,
        columns: newest.current.columns,
        isLog,
        syncKey,
        layers: () => ({ ...newest.current, lines: newest.current.columns.lines, colour }),
        range: () => [newest.current.span.fromMs, newest.current.span.toMs],
        onZoom: (fromMs, toMs) => newest.current.onRange(fixedRange(fromMs, toMs)),
        onZoomOut: () => newest.current.onRange(scaled(newest.current.span, 2)),
        onCursor: setCursor,
      }),
      plotData(newest.current.columns),
      element,
    )
    plot.current = made
    const sizes = new ResizeObserver(() =>
      made.setSize({ width: Math.max(120, element.clientWidth), height }),
    )
    sizes.observe(element)
    return () => {
      sizes.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [shape, height, syncKey])
  useEffect(() => plot.current?.setData(plotData(columns)), [columns, span.fromMs, span.toMs])
  useEffect(() => plot.current?.redraw(false), [thresholds, markers, chosen?.fromMs, chosen?.toMs])

  const keys: CursorKeys = useCursorKeys(plot, newest)
  const isEmpty = columns.times.length === 0
  return (
    <figure class="chart" data-from={exactInstant(span.fromMs)} data-to={exactInstant(span.toMs)}>
      <figcaption class="chart-head">
        <strong>{plainText(title)}</strong>
        {unit !== undefined && <span class="muted">{plainText(unit)}</span>}
        <ChartLegend columns={columns} index={cursor} unit={unit} />
      </figcaption>
      <div
        class="chart-place"
        role="application"
        aria-label={title}
        aria-describedby={`${id}-keys`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a chart with a cursor of its own is an application.
        tabIndex={0}
        ref={place}
        onKeyDown={keys.onKeyDown}
        onBlur={keys.onBlur}
      />
      {isEmpty && <p class="chart-empty muted">{t('empty')}</p>}
      <p id={`${id}-keys`} class="visually-hidden">
        {t('keys')}
      </p>
      <p class="visually-hidden" aria-live="polite">
        {spoken(columns, keys.spoken, unit)}
      </p>
      {hasTable && <ChartTable caption={title} columns={columns} unit={unit} />}
    </figure>
  )
}

function spoken(columns: Columns, at: CursorKeys['spoken'], unit: string | undefined): string {
  if (at === undefined) return ''
  const time = columns.times[at.index]
  if (time === undefined) return ''
  if (at.chosen > 1) return t('from', { time: instant(time), n: at.chosen })
  const values = columns.lines.map(({ name, values: all }) => {
    const value = all[at.index]
    return `${name} ${typeof value === 'number' ? `${number(value)} ${unit ?? ''}` : t('noValue')}`
  })
  return t('at', { time: instant(time), values: values.join(', ') })
}
