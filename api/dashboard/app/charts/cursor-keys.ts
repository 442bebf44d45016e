// The cursor of a chart by keys (D8): what the mouse does by pointing and dragging.
import type { RefObject } from 'preact'
import { useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { fixedRange, type Span, scaled, type TimeRange } from '../address/time-range.ts'
import { type Columns, nearestIndex } from './columns.ts'

export interface CursorKeys {
  /** Where the cursor is, and how many points are chosen. */
  readonly spoken: { readonly index: number; readonly chosen: number } | undefined
  readonly onKeyDown: (event: KeyboardEvent) => void
  readonly onBlur: () => void
}

interface ChartView {
  readonly columns: Columns
  readonly span: Span
  readonly onRange: (range: TimeRange) => void
}

interface Place {
  readonly index: number
  /** Where the chosen range began. */
  readonly anchor: number
}

/** Points of a step while Control is held. */
const LEAP = 10

export function useCursorKeys(plot: RefObject<uPlot | undefined>, shown: RefObject<ChartView>): CursorKeys {
  const [place, setPlace] = useState<Place | undefined>(undefined)
  const show = (next: Place | undefined) => {
    setPlace(next)
    if (plot.current != null && shown.current !== null) draw(plot.current, shown.current.columns, next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const { current } = shown
    if (current === null || current.columns.times.length === 0 || event.altKey || event.metaKey) return
    const { columns, span, onRange } = current
    const last = columns.times.length - 1
    const index = place?.index ?? nearestIndex(columns.times, (span.fromMs + span.toMs) / 2)
    const to = (next: number) => {
      const within = Math.min(last, Math.max(0, next))
      show({ index: within, anchor: event.shiftKey ? (place?.anchor ?? index) : within })
    }
    const step = event.ctrlKey ? LEAP : 1
    const actions: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => to(index - step),
      ArrowRight: () => to(index + step),
      Home: () => to(0),
      End: () => to(last),
      Enter: () => {
        if (place === undefined || place.anchor === place.index) return
        onRange(fixedRange(columns.times[place.anchor] ?? 0, columns.times[place.index] ?? 0))
        show(undefined)
      },
      '-': () => onRange(scaled(span, 2)),
      '+': () => onRange(scaled(span, 0.5)),
      Escape: () => show(undefined),
    }
    const action = actions[event.key]
    if (action === undefined || (event.key === 'Escape' && place === undefined)) return
    event.preventDefault()
    event.stopPropagation()
    action()
  }
  const chosen = place === undefined ? 0 : Math.abs(place.anchor - place.index) + 1
  return {
    spoken: place === undefined ? undefined : { index: place.index, chosen },
    onKeyDown,
    onBlur: () => show(undefined),
  }
}

function draw(plot: uPlot, { times, lines }: Columns, place: Place | undefined): void {
  if (place === undefined) {
    plot.setCursor({ left: -10, top: -10 })
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
    return
  }
  const left = plot.valToPos(times[place.index] ?? 0, 'x')
  const value = lines[0]?.values[place.index]
  plot.setCursor({ left, top: typeof value === 'number' ? plot.valToPos(value, 'y') : 0 })
  const other = plot.valToPos(times[place.anchor] ?? 0, 'x')
  plot.setSelect(
    { left: Math.min(left, other), top: 0, width: Math.abs(left - other), height: plot.over.clientHeight },
    false,
  )
}
