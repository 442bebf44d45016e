import type { ComponentChildren } from 'preact'

export interface GridColumn {
  readonly id: string
  readonly name: string
  readonly leastPx: number
  /** Its share of the room that is left. Default: none. */
  readonly grow?: number | undefined
  readonly cell: (row: number) => ComponentChildren
  readonly isNumber?: boolean
  /** Chosen by the person: it takes no part in sharing the room. */
  readonly widthPx?: number | undefined
  /** What the address calls the order by this column. */
  readonly sort?: string | undefined
}

export interface GridSort {
  readonly by: string
  readonly isDescending: boolean
}
