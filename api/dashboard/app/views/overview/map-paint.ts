// Paints the map by writing pixels: filling a rectangle for each cell takes hundreds of times as long. Only what is in the
// window is painted, and cells that are large enough get their glyph and name.
import { cellPlace, type MapLayout, type PlacedBlock } from '../../fleet/map-layout.ts'
import type { MapView } from '../../fleet/map-view.ts'
import { plainText } from '../../parts/plain-text.ts'
import { STATUS_GLYPHS } from '../../parts/status-mark.tsx'
import { cellText } from './cell-text.ts'
import { type FillName, type FillParts, type Fills, fillOf } from './map-colours.ts'

const GAP_FROM_PX = 4
const GLYPH_FROM_PX = 10
/** A smaller cell that is chosen is filled. */
const FRAME_FROM_PX = 8
const NAME_FROM_PX = 36
const QUIET = 0.25

export interface MapPaint extends FillParts {
  readonly layout: MapLayout
  readonly view: MapView
  readonly fills: Fills
  /** Pixels of the device for one of the page. */
  readonly scale: number
  /** Ids of chosen devices. */
  readonly selected: ReadonlySet<string>
}

export function paintMap(context: CanvasRenderingContext2D, paint: MapPaint): void {
  const { fills, scale, selected, columns } = paint
  const { width, height } = context.canvas
  const image = context.createImageData(width, height)
  const pixels = new Uint32Array(image.data.buffer)
  const cellPx = paint.layout.cellPx * paint.view.zoom
  const side = Math.max(1, Math.round((cellPx - (cellPx >= GAP_FROM_PX ? 1 : 0)) * scale))
  const chosen = pixelOf(fills.chosen)
  const labels: (() => void)[] = []
  forCellsInSight(paint, width, height, (row, left, top) => {
    const name = fillOf(row, paint)
    const colour = pixelOf(fills[name])
    const from = Math.max(0, left)
    const until = Math.min(left + side, width)
    const isChosen = selected.size > 0 && selected.has(columns.ids[row] ?? '')
    const isFramed = isChosen && cellPx >= FRAME_FROM_PX
    for (let line = Math.max(0, top); line < top + side && line < height; line++)
      if (until > from)
        pixels.fill(isChosen && !isFramed ? chosen : colour, line * width + from, line * width + until)
    if (isFramed) frame(pixels, { left, top, side, thick: Math.ceil(2 * scale), width, height, chosen })
    if (cellPx >= GLYPH_FROM_PX)
      labels.push(() =>
        write(context, { paint, row, name, left, top, side, hasName: cellPx >= NAME_FROM_PX }),
      )
  })
  context.putImageData(image, 0, 0)
  for (const label of labels) label()
}

const pixelOf = ([red, green, blue]: Fills[FillName]) => (255 << 24) | (blue << 16) | (green << 8) | red

interface Frame {
  readonly left: number
  readonly top: number
  readonly side: number
  readonly thick: number
  readonly width: number
  readonly height: number
  readonly chosen: number
}

function frame(pixels: Uint32Array, { left, top, side, thick, width, height, chosen }: Frame): void {
  for (let y = Math.max(0, top); y < Math.min(height, top + side); y++)
    for (let x = Math.max(0, left); x < Math.min(width, left + side); x++) {
      const isEdge =
        x < left + thick || x >= left + side - thick || y < top + thick || y >= top + side - thick
      if (isEdge) pixels[y * width + x] = chosen
    }
}

/** Rows of cells above and below the window cost nothing. */
function forCellsInSight(
  { layout, view, scale }: MapPaint,
  width: number,
  height: number,
  see: (row: number, left: number, top: number) => void,
): void {
  const toPixels = (at: number, from: number) => Math.round((at - from) * view.zoom * scale)
  const reach = Math.ceil(layout.cellPx * view.zoom * scale)
  for (const at of layout.blocks) {
    const [first, last] = linesInSight(at, layout, { view, height: height / scale / view.zoom })
    for (let cell = first * at.columns; cell < Math.min(at.block.rows.length, last * at.columns); cell++) {
      const { x, y } = cellPlace(at, cell, layout.cellPx)
      const [left, top] = [toPixels(x, view.x), toPixels(y, view.y)]
      if (left + reach < 0 || left >= width || top + reach < 0 || top >= height) continue
      see(at.block.rows[cell] ?? 0, left, top)
    }
  }
}

function linesInSight(
  at: PlacedBlock,
  { cellPx }: MapLayout,
  { view, height }: { readonly view: MapView; readonly height: number },
): readonly [first: number, last: number] {
  const { y } = cellPlace(at, 0, cellPx)
  const first = Math.max(0, Math.floor((view.y - y) / cellPx))
  return [first, Math.max(first, Math.ceil((view.y + height - y) / cellPx))]
}

interface Label {
  readonly paint: MapPaint
  readonly row: number
  readonly name: FillName
  readonly left: number
  readonly top: number
  readonly side: number
  readonly hasName: boolean
}

/** The glyph of the status, so that no state is told by colour alone; and as much of the name as fits. */
function write(context: CanvasRenderingContext2D, label: Label): void {
  const { paint, row, name, left, top, side, hasName } = label
  const { columns, fills, scale } = paint
  const [red, green, blue] = fills[name]
  context.fillStyle = red * 0.3 + green * 0.59 + blue * 0.11 > 140 ? '#000' : '#fff'
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  const glyphPx = Math.min(side * 0.6, 16 * scale)
  context.font = `${glyphPx}px system-ui`
  const middle = left + side / 2
  const status = columns.statusAt(row)
  // What is well recedes, so that trouble is what is seen.
  context.globalAlpha = status === 'online' ? QUIET : 1
  context.fillText(STATUS_GLYPHS[status], middle, top + side * (hasName ? 0.35 : 0.52), side)
  context.globalAlpha = 1
  if (!hasName) return
  context.save()
  context.beginPath()
  context.rect(left, top, side, side)
  context.clip()
  context.font = `${Math.min(side * 0.26, 12 * scale)}px system-ui`
  const named = { name: plainText(columns.names[row] ?? ''), id: columns.ids[row] ?? '' }
  const text = cellText(named, side - 2 * scale, (part) => context.measureText(part).width)
  context.fillText(text, middle, top + side * 0.78)
  context.restore()
}
