// How wide the columns of a grid are, and where those stand that stay in sight when the others scroll sideways. Pinned columns
// have a fixed width, because the place of each is the sum of those before it.
import { useMemo } from 'preact/hooks'
import type { GridColumn } from './grid-column.ts'

/** The column with the check boxes. */
export const SELECT_PX = 36

export interface ColumnSizes {
  /** The value of `grid-template-columns`. */
  readonly tracks: string
  readonly leastPx: number
  /** A place of -1 is the column with the check boxes. */
  readonly classOf: (base: string, place: number) => string
  readonly styleOf: (place: number) => Readonly<Record<string, string>> | undefined
}

export function useColumnSizes(columns: readonly GridColumn[], pinned = 0): ColumnSizes {
  const key = JSON.stringify([
    columns.map(({ id, widthPx, leastPx, grow }) => [id, widthPx, leastPx, grow]),
    pinned,
  ])
  return useMemo(() => sizesOf(columns, pinned), [key])
}

function sizesOf(columns: readonly GridColumn[], pinned: number): ColumnSizes {
  const widths = columns.map(({ leastPx, widthPx }) => widthPx ?? leastPx)
  const tracks = columns.map(({ leastPx, grow, widthPx }, i) => {
    if (widthPx !== undefined) return `${widthPx}px`
    return grow === undefined || i < pinned ? `${leastPx}px` : `minmax(${leastPx}px, ${grow}fr)`
  })
  const starts = [0]
  widths.reduce((sum, width) => {
    starts.push(sum)
    return sum + width
  }, SELECT_PX)
  const isPinned = (place: number) => pinned > 0 && place < pinned
  return {
    tracks: [`${SELECT_PX}px`, ...tracks].join(' '),
    leastPx: widths.reduce((sum, width) => sum + width, SELECT_PX),
    classOf: (base, place) => (isPinned(place) ? `${base} grid-pinned` : base),
    styleOf: (place) => (isPinned(place) ? { insetInlineStart: `${starts[place + 1] ?? 0}px` } : undefined),
  }
}
