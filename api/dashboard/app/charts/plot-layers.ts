// What is drawn over the lines: thresholds, what happened, and the names at the ends of the lines.
import type uPlot from 'uplot'
import type { Span } from '../address/time-range.ts'
import { plainText } from '../parts/plain-text.ts'
import { faint, SERIES } from './colours.ts'
import type { Line } from './columns.ts'
import { MARKER_COLOURS, MARKER_GLYPHS, type Marker, type Threshold } from './marker.ts'

/** Read at each drawing, so that new ones need no new chart. */
export interface Layers {
  readonly thresholds: readonly Threshold[]
  readonly markers: readonly Marker[]
  readonly lines: readonly Line[]
  readonly chosen?: Span | undefined
  readonly colour: (token: string) => string
}

const FONT = '12px system-ui, sans-serif'
const NAME_CHARS_MAX = 18

export function drawLayers(plot: uPlot, layers: Layers): void {
  const { thresholds, markers, lines, colour, chosen } = layers
  const { ctx: context, bbox } = plot
  const ratio = devicePixelRatio
  context.save()
  context.font = FONT.replace('12', String(12 * ratio))
  context.lineWidth = ratio
  if (chosen !== undefined) drawChosen(plot, chosen, colour)
  for (const { value, text, severity } of thresholds) {
    const y = plot.valToPos(value, 'y', true)
    if (!(y >= bbox.top && y <= bbox.top + bbox.height)) continue
    context.strokeStyle = context.fillStyle = colour(severity === 'critical' ? '--critical' : '--warning')
    dashed(context, [6 * ratio, 4 * ratio], () => {
      context.moveTo(bbox.left, y)
      context.lineTo(bbox.left + bbox.width, y)
    })
    context.textAlign = 'left'
    context.fillText(text, bbox.left + 4 * ratio, y - 4 * ratio)
  }
  for (const { at, kind } of markers) {
    const x = plot.valToPos(at, 'x', true)
    if (!(x >= bbox.left && x <= bbox.left + bbox.width)) continue
    context.strokeStyle = context.fillStyle = colour(MARKER_COLOURS[kind])
    dashed(context, [2 * ratio, 3 * ratio], () => {
      context.moveTo(x, bbox.top)
      context.lineTo(x, bbox.top + bbox.height)
    })
    context.textAlign = 'center'
    context.fillText(MARKER_GLYPHS[kind], x, bbox.top - 3 * ratio)
  }
  if (lines.length > 1) drawNames(plot, lines, colour)
  context.restore()
}

/** What is left aside is dimmed, and the chosen part has edges. */
function drawChosen(plot: uPlot, { fromMs, toMs }: Span, colour: Layers['colour']): void {
  const { ctx: context, bbox } = plot
  const within = (ms: number) =>
    Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(ms, 'x', true)))
  const [left, right] = [within(fromMs), within(toMs)]
  context.fillStyle = faint(colour('--bg'), 0.7)
  context.fillRect(bbox.left, bbox.top, left - bbox.left, bbox.height)
  context.fillRect(right, bbox.top, bbox.left + bbox.width - right, bbox.height)
  context.strokeStyle = colour('--accent')
  context.strokeRect(left, bbox.top, Math.max(1, right - left), bbox.height)
}

function dashed(context: CanvasRenderingContext2D, dash: number[], path: () => void): void {
  context.beginPath()
  context.setLineDash(dash)
  path()
  context.stroke()
  context.setLineDash([])
}

/** Names that would cover each other are left to the legend. */
function drawNames(plot: uPlot, lines: readonly Line[], colour: Layers['colour']): void {
  const { ctx: context, bbox } = plot
  const ratio = devicePixelRatio
  const taken: number[] = []
  context.textAlign = 'left'
  lines.forEach(({ name, values }, index) => {
    const last = values.findLast((value) => typeof value === 'number')
    if (typeof last !== 'number') return
    const y = plot.valToPos(last, 'y', true)
    const isFree = taken.every((other) => Math.abs(other - y) > 13 * ratio)
    if (!isFree || !(y >= bbox.top && y <= bbox.top + bbox.height)) return
    taken.push(y)
    context.fillStyle = colour(SERIES[index % SERIES.length] ?? SERIES[0])
    context.fillText(
      plainText(name).slice(0, NAME_CHARS_MAX),
      bbox.left + bbox.width + 4 * ratio,
      y + 4 * ratio,
    )
  })
}
