// The map of the fleet: a block for each group, in it a cell for each device. Blocks with the greatest share of trouble come
// first, and in a block the worst devices, so that trouble forms an edge that is seen.
import { type FleetColumns, STATUS } from './columns.ts'
import { compare, naturalKey } from './natural-order.ts'
import type { RankCache } from './sort-rows.ts'
import { severityAt } from './sort-rows.ts'

export interface Block {
  /** The group at the chosen depth; empty for devices without one. */
  readonly name: string
  readonly rows: Uint32Array
  /** Devices by status, at the place of the status in the vocabulary. */
  readonly counts: readonly number[]
  /** The share of devices that are broken or gone. */
  readonly trouble: number
}

export interface BlockParts {
  readonly columns: FleetColumns
  readonly ranks: RankCache
  readonly rows: Uint32Array
  readonly depth: number
}

export function blocksOf({ columns, ranks, rows, depth }: BlockParts): readonly Block[] {
  const names = columns.groups.words.map((group) => group.split('/').slice(0, depth).join('/'))
  const byName = new Map<string, number[]>()
  for (const row of rows) {
    const name = names[columns.group[row] ?? 0] ?? ''
    const list = byName.get(name)
    if (list === undefined) byName.set(name, [row])
    else list.push(row)
  }
  const order = ranks.ids(columns)
  const blocks = [...byName].map(([name, found]): Block => {
    const counts = [0, 0, 0, 0, 0, 0]
    for (const row of found) {
      const status = columns.status[row] ?? 0
      counts[status] = (counts[status] ?? 0) + 1
    }
    found.sort((a, b) => severityAt(columns, a) - severityAt(columns, b) || (order[a] ?? 0) - (order[b] ?? 0))
    const trouble = ((counts[STATUS.error] ?? 0) + (counts[STATUS.offline] ?? 0)) / found.length
    return { name, rows: Uint32Array.from(found), counts, trouble }
  })
  return blocks.sort((a, b) => b.trouble - a.trouble || compare(naturalKey(a.name), naturalKey(b.name)))
}

export interface PlacedBlock {
  readonly block: Block
  readonly x: number
  readonly y: number
  readonly columns: number
  readonly width: number
  readonly height: number
}

export interface MapLayout {
  /** The side of a cell with its gap. */
  readonly cellPx: number
  readonly height: number
  readonly blocks: readonly PlacedBlock[]
}

const LABEL_PX = 20
const BETWEEN_PX = 12
const LABEL_WIDTH_PX = 72
const CELLS_PX = [36, 28, 22, 18, 14, 12, 10, 8, 7, 6, 5, 4, 3] as const

/** How many times as wide as high blocks may be. Some shapes leave less room beside them than others. */
const SHAPES = [2, 0.7, 1, 1.25, 1.5, 2.5, 3, 4, 5, 6, 8] as const

/** The largest cells with which all blocks fit, in the shape that takes the least room; undefined if even the smallest cells
 *  do not fit. */
export function layoutOf(blocks: readonly Block[], width: number, heightMax: number): MapLayout | undefined {
  for (const cellPx of CELLS_PX) {
    const layouts = SHAPES.map((shape) => placed(blocks, { cellPx, width, shape }))
    const least = layouts.reduce((best, layout) => (layout.height < best.height ? layout : best))
    if (least.height <= heightMax) return least
  }
  return undefined
}

interface PlaceOptions {
  readonly cellPx: number
  readonly width: number
  readonly shape: number
}

function placed(blocks: readonly Block[], { cellPx, width, shape }: PlaceOptions): MapLayout {
  let [x, y, shelf] = [0, 0, 0]
  const list = blocks.map((block): PlacedBlock => {
    const size = block.rows.length
    const most = Math.max(1, Math.floor(width / cellPx))
    const columns = Math.min(most, Math.max(1, Math.ceil(Math.sqrt(size * shape))))
    const blockWidth = Math.max(columns * cellPx, Math.min(LABEL_WIDTH_PX, width))
    const height = LABEL_PX + Math.ceil(size / columns) * cellPx
    if (x > 0 && x + blockWidth > width) {
      x = 0
      y += shelf + BETWEEN_PX
      shelf = 0
    }
    const at = { block, x, y, columns, width: blockWidth, height }
    x += blockWidth + BETWEEN_PX
    shelf = Math.max(shelf, height)
    return at
  })
  return { cellPx, height: y + shelf, blocks: list }
}

export interface CellPlace {
  readonly x: number
  readonly y: number
}

export function cellPlace({ x, y, columns }: PlacedBlock, cell: number, cellPx: number): CellPlace {
  return { x: x + (cell % columns) * cellPx, y: y + LABEL_PX + Math.floor(cell / columns) * cellPx }
}

export interface Cell {
  readonly block: number
  readonly cell: number
}

export function cellAt({ blocks, cellPx }: MapLayout, x: number, y: number): Cell | undefined {
  for (const [place, at] of blocks.entries()) {
    const column = Math.floor((x - at.x) / cellPx)
    const line = Math.floor((y - at.y - LABEL_PX) / cellPx)
    if (column < 0 || column >= at.columns || line < 0) continue
    const cell = line * at.columns + column
    if (cell < at.block.rows.length) return { block: place, cell }
  }
  return undefined
}

/** The cell that an arrow leads to; at the end of a block the next one begins. */
export function nextCell({ blocks }: MapLayout, { block, cell }: Cell, key: string): Cell {
  const at = blocks[block]
  if (at === undefined) return { block: 0, cell: 0 }
  const size = at.block.rows.length
  const steps: Readonly<Record<string, number>> = {
    ArrowRight: 1,
    ArrowLeft: -1,
    ArrowDown: at.columns,
    ArrowUp: -at.columns,
  }
  const next = cell + (steps[key] ?? 0)
  if (next >= 0 && next < size) return { block, cell: next }
  const other = blocks[block + (next < 0 ? -1 : 1)]
  if (other === undefined) return { block, cell }
  return { block: block + (next < 0 ? -1 : 1), cell: next < 0 ? other.block.rows.length - 1 : 0 }
}

/** The cells of which any part lies between two corners. */
export function cellsWithin({ blocks, cellPx }: MapLayout, from: CellPlace, to: CellPlace): readonly Cell[] {
  const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)]
  const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)]
  return blocks.flatMap((at, block) =>
    Array.from(at.block.rows, (_, cell): Cell => ({ block, cell })).filter(({ cell }) => {
      const { x, y } = cellPlace(at, cell, cellPx)
      return x < right && x + cellPx > left && y < bottom && y + cellPx > top
    }),
  )
}

/** The cells from one to another, both included, in the order in which the arrows walk. */
export function cellsFrom({ blocks }: MapLayout, one: Cell, other: Cell): readonly Cell[] {
  const isBefore = one.block < other.block || (one.block === other.block && one.cell <= other.cell)
  const [first, last] = isBefore ? [one, other] : [other, one]
  return blocks.flatMap(({ block: { rows } }, block) => {
    if (block < first.block || block > last.block) return []
    const from = block === first.block ? first.cell : 0
    const until = block === last.block ? last.cell : rows.length - 1
    return Array.from({ length: until - from + 1 }, (_, i): Cell => ({ block, cell: from + i }))
  })
}
