// biome-ignore-all lint/a11y/useSemanticElements: a table cannot have rows that are not on the page.
// biome-ignore-all lint/a11y/useFocusableInteractive: sorting and sizing have their own stops.
// The head of a grid: names that order its rows, and handles at their ends that make a column wider or narrower, by dragging
// as by the arrow keys.
import { useRef, useState } from 'preact/hooks'
import { COLUMN_WIDTH, widthOf } from '../address/column-choices.ts'
import { words } from '../words/words.ts'
import type { ColumnSizes } from './column-sizes.ts'
import type { GridColumn, GridSort } from './grid-column.ts'
import { Icon } from './icon.tsx'

const t = words({
  selection: ['Selection', 'Auswahl'],
  width: ['Width of {name}', 'Breite von {name}'],
})

interface GridHeadProps {
  readonly columns: readonly GridColumn[]
  readonly sort: GridSort
  readonly onSort: (by: string) => void
  readonly isNarrow: boolean
  readonly onWidth: ((id: string, widthPx: number | undefined) => void) | undefined
  readonly sizes: ColumnSizes
}

export function GridHead({ columns, sort, onSort, isNarrow, onWidth, sizes }: GridHeadProps) {
  return (
    <div
      class="grid-head"
      role="row"
      aria-rowindex={1}
      tabIndex={-1}
      style={{ gridTemplateColumns: sizes.tracks, minInlineSize: isNarrow ? '0' : `${sizes.leastPx}px` }}
    >
      <div
        class={sizes.classOf('grid-cell', -1)}
        role="columnheader"
        aria-colindex={1}
        style={sizes.styleOf(-1)}
      >
        <span class="visually-hidden">{t('selection')}</span>
      </div>
      {(isNarrow ? columns.slice(0, 1) : columns).map((column, i) => {
        const { id, name, sort: by, isNumber } = column
        const isSorted = by !== undefined && by === sort.by
        return (
          <div
            key={id}
            class={sizes.classOf(isNumber === true ? 'grid-cell number' : 'grid-cell', i)}
            style={sizes.styleOf(i)}
            role="columnheader"
            // Its handle is no part of its name.
            aria-label={name}
            aria-colindex={i + 2}
            aria-sort={isSorted ? (sort.isDescending ? 'descending' : 'ascending') : undefined}
          >
            {by === undefined ? (
              name
            ) : (
              <button type="button" class="grid-sort" tabIndex={isNarrow ? -1 : 0} onClick={() => onSort(by)}>
                {name}
                {isSorted && <Icon name={sort.isDescending ? 'chevron-down' : 'chevron-up'} />}
              </button>
            )}
            {onWidth !== undefined && !isNarrow && <Handle column={column} onWidth={onWidth} />}
          </div>
        )
      })}
    </div>
  )
}

interface HandleProps {
  readonly column: GridColumn
  readonly onWidth: (id: string, widthPx: number | undefined) => void
}

const STEP_PX = 16

/** Home gives the column its usual width back, and so does a double click. */
function Handle({ column: { id, name, widthPx, leastPx }, onWidth }: HandleProps) {
  const from = useRef<{ readonly x: number; readonly px: number } | undefined>(undefined)
  const [dragged, setDragged] = useState<number | undefined>(undefined)
  const measured = (handle: HTMLElement) => Math.round(handle.parentElement?.offsetWidth ?? leastPx)
  const step = (handle: HTMLElement, by: number) => onWidth(id, widthOf(measured(handle) + by))
  return (
    <div
      class="grid-handle"
      role="separator"
      aria-orientation="vertical"
      aria-label={t('width', { name })}
      aria-valuenow={widthPx ?? leastPx}
      aria-valuemin={COLUMN_WIDTH.leastPx}
      aria-valuemax={COLUMN_WIDTH.mostPx}
      tabIndex={0}
      onKeyDown={(event) => {
        if (event.key === 'ArrowLeft') step(event.currentTarget, -STEP_PX)
        else if (event.key === 'ArrowRight') step(event.currentTarget, STEP_PX)
        else if (event.key === 'Home') onWidth(id, undefined)
        else return
        event.preventDefault()
      }}
      onDblClick={() => onWidth(id, undefined)}
      onPointerDown={(event) => {
        from.current = { x: event.clientX, px: measured(event.currentTarget) }
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={({ clientX }) => {
        if (from.current !== undefined) setDragged(clientX - from.current.x)
      }}
      onPointerUp={() => {
        if (from.current !== undefined && dragged !== undefined)
          onWidth(id, widthOf(from.current.px + dragged))
        from.current = undefined
        setDragged(undefined)
      }}
      style={dragged === undefined ? undefined : { transform: `translateX(${dragged}px)` }}
    />
  )
}
