// Paints the map by writing pixels: filling a rectangle for each cell takes hundreds of times as long.
import { FLAG, type FleetColumns, STATUS } from '../../fleet/columns.ts'
import { cellPlace, type MapLayout } from '../../fleet/heat-map.ts'

export const COLOURINGS = ['status', 'seen', 'alert', 'sync'] as const
export type Colouring = (typeof COLOURINGS)[number]

/** The fills of the tokens, as red, green, blue. */
export type Fills = Readonly<Record<FillName, readonly [number, number, number]>>
export const FILL_NAMES = ['online', 'offline', 'error', 'maintenance', 'provisioning'] as const
export type FillName = (typeof FILL_NAMES)[number]

const BY_STATUS: Readonly<Record<number, FillName>> = {
  [STATUS.online]: 'online',
  [STATUS.offline]: 'offline',
  [STATUS.error]: 'error',
  [STATUS.maintenance]: 'maintenance',
  [STATUS.provisioning]: 'provisioning',
  [STATUS.decommissioned]: 'offline',
}

function fillOf(columns: FleetColumns, row: number, colouring: Colouring, nowMs: number): FillName {
  const flags = columns.flags[row] ?? 0
  switch (colouring) {
    case 'status':
      return BY_STATUS[columns.status[row] ?? 0] ?? 'offline'
    case 'alert':
      return (flags & FLAG.critical) !== 0 ? 'error' : (flags & FLAG.warning) !== 0 ? 'maintenance' : 'online'
    case 'sync':
      return (flags & FLAG.outOfSync) === 0 ? 'online' : 'provisioning'
    case 'seen': {
      const age = nowMs - (columns.seen[row] ?? 0)
      if (age < 60_000) return 'online'
      if (age < 600_000) return 'provisioning'
      return age < 3_600_000 ? 'maintenance' : 'offline'
    }
  }
}

export interface MapPaint {
  readonly layout: MapLayout
  readonly columns: FleetColumns
  readonly colouring: Colouring
  readonly fills: Fills
  readonly nowMs: number
  /** Pixels of the device for one of the page. */
  readonly scale: number
}

export function paintMap(context: CanvasRenderingContext2D, paint: MapPaint): void {
  const { layout, columns, colouring, fills, nowMs, scale } = paint
  const { width, height } = context.canvas
  const image = context.createImageData(width, height)
  const pixels = new Uint32Array(image.data.buffer)
  const side = Math.max(1, Math.round((layout.cellPx - layout.gapPx) * scale))
  for (const at of layout.blocks)
    at.block.rows.forEach((row, cell) => {
      const [red, green, blue] = fills[fillOf(columns, row, colouring, nowMs)]
      const colour = (255 << 24) | (blue << 16) | (green << 8) | red
      const { x, y } = cellPlace(at, cell, layout.cellPx)
      const [left, top] = [Math.round(x * scale), Math.round(y * scale)]
      for (let line = top; line < top + side && line < height; line++)
        pixels.fill(colour, line * width + left, line * width + Math.min(left + side, width))
    })
  context.putImageData(image, 0, 0)
}
