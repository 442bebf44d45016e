// The settings of one uPlot chart. Its x values are milliseconds; the band of a line is two lines without a stroke and the
// area between them.
import uPlot from 'uplot'
import { timeZone } from '../words/time.ts'
import { number } from '../words/words.ts'
import { faint, SERIES } from './colours.ts'
import type { Columns } from './columns.ts'
import { drawLayers, type Layers } from './plot-layers.ts'
import { timeLabels } from './time-labels.ts'

export interface PlotOptions {
  readonly width: number
  readonly height: number
  readonly columns: Columns
  readonly isLog: boolean
  /** Charts with the same key share their cursor. */
  readonly syncKey: string
  readonly layers: () => Layers
  readonly range: () => readonly [fromMs: number, toMs: number]
  readonly onZoom: (fromMs: number, toMs: number) => void
  readonly onZoomOut: () => void
  /** Undefined when the cursor has left. */
  readonly onCursor: (index: number | undefined) => void
}

const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3]]
const SELECTED_PX_MIN = 4

export function plotOptions(options: PlotOptions): uPlot.Options {
  const { width, height, columns, isLog, syncKey, layers, range, onZoom, onZoomOut, onCursor } = options
  const { colour } = layers()
  const hasNames = columns.lines.length > 1 && width > 640
  const axis = {
    stroke: colour('--muted'),
    font: '12px system-ui, sans-serif',
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1, size: 4 },
  }
  const zone = timeZone.peek()
  return {
    width,
    height,
    ms: 1,
    ...(zone === undefined ? {} : { tzDate: (ms: number) => uPlot.tzDate(new Date(ms), zone) }),
    padding: [16, hasNames ? 110 : 12, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: true, range: () => [...range()] as [number, number] },
      y: isLog ? { distr: 3 } : { range: yRange(layers) },
    },
    axes: [
      { ...axis, values: (_, marks, __, ___, step) => timeLabels(marks, step), size: 44, space: 70 },
      {
        ...axis,
        values: (_, marks) => marks.map((mark) => (mark == null ? '' : shortNumber(mark))),
        size: 56,
      },
    ],
    series: [{}, ...columns.lines.flatMap((line, index) => seriesOf(line, index, colour))],
    bands: bandsOf(columns, colour),
    cursor: {
      sync: { key: syncKey },
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
      bind: {
        dblclick: () => () => {
          onZoomOut()
          return null
        },
      },
    },
    hooks: {
      draw: [(plot) => drawLayers(plot, layers())],
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? undefined)],
      setSelect: [
        (plot) => {
          const { left, width: selected } = plot.select
          if (selected < SELECTED_PX_MIN) return
          onZoom(plot.posToVal(left, 'x'), plot.posToVal(left + selected, 'x'))
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  }
}

/** The columns in uPlot's order: times, then of each line its values and, with a band, its least and greatest. */
export function plotData({ times, lines }: Columns): uPlot.AlignedData {
  const values = lines.flatMap((line) => [
    line.values,
    ...(line.band === undefined ? [] : [line.band.low, line.band.high]),
  ])
  // uPlot reads them only.
  return [times, ...values] as unknown as uPlot.AlignedData
}

function seriesOf(
  { name, band }: Columns['lines'][number],
  index: number,
  colour: Layers['colour'],
): uPlot.Series[] {
  const stroke = colour(SERIES[index % SERIES.length] ?? SERIES[0])
  const dash = DASHES[Math.floor(index / SERIES.length)] ?? []
  const line: uPlot.Series = { label: name, stroke, width: 1.5, dash: [...dash], spanGaps: false }
  const edge: uPlot.Series = { label: '', width: 0, points: { show: false } }
  return band === undefined ? [line] : [line, edge, edge]
}

function bandsOf({ lines }: Columns, colour: Layers['colour']): uPlot.Band[] {
  const bands: uPlot.Band[] = []
  let at = 1
  lines.forEach(({ band }, index) => {
    if (band !== undefined)
      bands.push({
        series: [at + 2, at + 1],
        fill: faint(colour(SERIES[index % SERIES.length] ?? SERIES[0]), 0.18),
      })
    at += band === undefined ? 1 : 3
  })
  return bands
}

/** Thresholds near the values are in the picture; far ones would press the values flat. */
function yRange(layers: () => Layers): uPlot.Range.Function {
  return (_, low, high) => {
    // Without any value uPlot gives null.
    if (low == null || high == null) return [0, 1]
    // A value that never moved, above all a boolean, has its place in the middle of a small range.
    if (high === low) return low === 0 ? [-1, 1] : [low - Math.abs(low) * 0.1, low + Math.abs(low) * 0.1]
    const reach = Math.max(high - low, Math.abs(high) * 0.05, 1e-9) * 1.5
    const near = layers()
      .thresholds.map(({ value }) => value)
      .filter((value) => value > low - reach && value < high + reach)
    return uPlot.rangeNum(Math.min(low, ...near), Math.max(high, ...near), 0.1, true)
  }
}

const shortNumber = (value: number) =>
  number(value, Math.abs(value) >= 10_000 ? { notation: 'compact' } : { maximumSignificantDigits: 6 })
