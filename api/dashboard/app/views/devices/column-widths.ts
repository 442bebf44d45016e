// How wide the columns of the list are before somebody sizes them: as wide as what they show, so that the room that is left
// goes to the names.
import type { FleetColumns } from '../../fleet/columns.ts'
import type { ColumnId } from './column-ids.ts'

export interface ColumnWidth {
  readonly leastPx: number
  readonly grow?: number
}
export type ColumnWidths = Readonly<Record<ColumnId, ColumnWidth>>

/** Pixels of a text: plain, or as code. */
export type Measure = (text: string, isCode?: boolean) => number

export interface ShownTexts {
  readonly columns: Pick<FleetColumns, 'ids' | 'groups' | 'types' | 'firmwares'>
  readonly nameOf: (id: ColumnId) => string
  /** Words that a column may show, where they are few. */
  readonly wordsOf: Readonly<Partial<Record<ColumnId, readonly string[]>>>
}

/** The room around a text of a cell, and that of a name with its arrow and its handle. */
const CELL_PX = 18
const HEAD_PX = 24
/** A narrower column is hard to hit. */
const NARROW_PX = 80
/** A longer text is cut, and shown whole as a hint. */
const LONG_PX = 200
/** Measuring takes longer than counting letters. */
const MEASURED_MAX = 50
const NAME_PX = 140
const FREE_PX = 112

export function columnWidths({ columns, nameOf, wordsOf }: ShownTexts, measure: Measure): ColumnWidths {
  const fitting = (id: ColumnId, texts: readonly string[], isCode = false): ColumnWidth => {
    const widest = Math.max(0, ...texts.map((text) => measure(text, isCode)))
    const wantedPx = Math.min(LONG_PX, widest + CELL_PX)
    return { leastPx: Math.ceil(Math.max(NARROW_PX, measure(nameOf(id)) + HEAD_PX, wantedPx)) }
  }
  const words = (id: ColumnId) => fitting(id, wordsOf[id] ?? [])
  return {
    status: words('status'),
    name: { leastPx: NAME_PX, grow: 3 },
    id: fitting('id', longest(columns.ids), true),
    group: fitting('group', longest(columns.groups.words)),
    type: fitting('type', longest(columns.types.words)),
    seen: words('seen'),
    firmware: fitting('firmware', longest(columns.firmwares.words)),
    alert: words('alert'),
    sync: words('sync'),
    tags: { leastPx: FREE_PX, grow: 1 },
    parent: { leastPx: FREE_PX, grow: 1 },
    since: words('since'),
    reason: { leastPx: FREE_PX, grow: 1 },
  }
}

/** One of the texts with the most letters is the widest, or nearly so; finding them measures none. */
const longest = (texts: readonly string[]): readonly string[] => {
  const most = texts.reduce((found, { length }) => Math.max(found, length), 0)
  return texts.filter(({ length }) => length >= most - 2).slice(0, MEASURED_MAX)
}
