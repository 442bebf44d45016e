// biome-ignore-all lint/a11y/useSemanticElements: a table cannot have rows that are not on the page.
// biome-ignore-all lint/a11y/useFocusableInteractive: the rows have the tab stop, and sorting has buttons.
// A grid of which only the rows in sight are on the page. Rows have one fixed height, so that a place is a multiplication
// and nothing has to be measured. The active row has the one tab stop; the arrows move it (roving tabindex).
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { SELECT_PX, useColumnSizes } from './column-sizes.ts'
import type { GridColumn, GridSort } from './grid-column.ts'
import { GridHead as Head } from './grid-head.tsx'
import { followSwipes } from './swipe.ts'

const t = words({ select: ['Select {name}', '{name} auswählen'] })

export interface GridSelection {
  readonly has: (row: number) => boolean
  readonly onToggle: (place: number, isRange: boolean) => void
}

export interface VirtualGridProps {
  readonly label: string
  readonly columns: readonly GridColumn[]
  /** What is shown at each place. A number means something to `cell` only. */
  readonly rows: ArrayLike<number>
  readonly nameOf: (row: number) => string
  readonly keyOf: (row: number) => string
  /** What a narrow screen shows in place of the cells. */
  readonly card: (row: number) => ComponentChildren
  readonly sort: GridSort
  readonly onSort: (by: string) => void
  readonly active: number
  readonly onActive: (place: number) => void
  readonly onOpen: (row: number) => void
  readonly onPeek: (row: number) => void
  readonly selection: GridSelection
  /** Whether somebody is at it, so that its rows should not move. */
  readonly onHold: (isHeld: boolean) => void
  readonly isNarrow: boolean
  /** A card was swiped to a side. */
  readonly onSwipe?: (place: number, isRight: boolean) => void
  /** How many columns stay in sight when the others scroll sideways. */
  readonly pinned?: number
  readonly onWidth?: (id: string, widthPx: number | undefined) => void
  /** The first place in sight, and the one after the last. */
  readonly onSight?: (from: number, to: number) => void
}

/** Rows above and below those in sight, so that quick scrolling shows no gap. */
const SPARE = 6
const CARD_PX = 96
const NO_COLUMNS: readonly GridColumn[] = []

export function VirtualGrid(props: VirtualGridProps) {
  const { label, columns, rows, active, onActive, isNarrow, selection, onHold } = props
  const viewport = useRef<HTMLDivElement>(null)
  const [{ top, height }, setSight] = useState({ top: 0, height: 800 })
  const rowPx = isNarrow ? CARD_PX : rowHeight()
  useEffect(() => {
    const element = viewport.current
    if (element === null) return
    const look = () => setSight({ top: element.scrollTop, height: element.clientHeight })
    const observer = new ResizeObserver(look)
    observer.observe(element)
    look()
    return () => observer.disconnect()
  }, [])
  const swiped = useRef(props.onSwipe)
  swiped.current = props.onSwipe
  useEffect(() => {
    if (!isNarrow || viewport.current === null) return
    return followSwipes(viewport.current, ({ target, isRight }) => {
      const row = target instanceof Element ? target.closest<HTMLElement>('[data-place]') : null
      if (row !== null) swiped.current?.(Number(row.dataset['place']), isRight)
    })
  }, [isNarrow])
  const first = Math.max(0, Math.floor(top / rowPx) - SPARE)
  const last = Math.min(rows.length, Math.ceil((top + height) / rowPx) + SPARE)
  const sizes = useColumnSizes(isNarrow ? NO_COLUMNS : columns, isNarrow ? 0 : props.pinned)
  const { onSight } = props
  useEffect(() => onSight?.(first, last), [first, last, rows])
  const move = (place: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, place))
    onActive(next)
    reveal(viewport.current, next, rowPx)
    requestAnimationFrame(() => focusRow(viewport.current, next))
  }
  const page = Math.max(1, Math.floor(height / rowPx) - 2)
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLElement) || event.target.getAttribute('role') !== 'row') return
    const row = rows[active]
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: rows.length - 1,
    }
    const place = moves[event.key]
    if (event.ctrlKey || event.metaKey || event.altKey || row === undefined) return
    if (place !== undefined) move(place)
    else if (event.key === 'Enter') props.onOpen(row)
    else if (event.key === ' ') props.onPeek(row)
    else return
    event.preventDefault()
  }
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i)
  // The active row always is on the page: it has the tab stop.
  if (active < rows.length && (active < first || active >= last)) shown.push(active)
  return (
    <div
      class={isNarrow ? 'grid grid-narrow' : 'grid'}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={isNarrow ? 2 : columns.length + 1}
      aria-multiselectable="true"
      onKeyDown={onKeyDown}
      onPointerEnter={() => onHold(true)}
      onPointerLeave={() => onHold(viewport.current?.contains(document.activeElement) === true)}
      onFocusIn={() => onHold(true)}
      onFocusOut={() => onHold(false)}
    >
      <div
        ref={viewport}
        class="grid-viewport"
        onScroll={({ currentTarget }) =>
          setSight({ top: currentTarget.scrollTop, height: currentTarget.clientHeight })
        }
      >
        <Head {...props} onWidth={props.onWidth} sizes={sizes} />
        <div
          class="grid-rows"
          role="presentation"
          style={{
            blockSize: `${rows.length * rowPx}px`,
            minInlineSize: isNarrow ? '0' : `${sizes.leastPx}px`,
          }}
        >
          {shown.map((place) => {
            const row = rows[place] ?? 0
            const isSelected = selection.has(row)
            return (
              <div
                key={props.keyOf(row)}
                class={isSelected ? 'grid-row grid-row-selected' : 'grid-row'}
                role="row"
                aria-rowindex={place + 2}
                aria-selected={isSelected}
                data-place={place}
                tabIndex={place === active ? 0 : -1}
                onFocus={() => onActive(place)}
                onDblClick={() => props.onOpen(row)}
                style={{
                  gridTemplateColumns: isNarrow ? `${SELECT_PX}px 1fr` : sizes.tracks,
                  transform: `translateY(${place * rowPx}px)`,
                  blockSize: `${rowPx}px`,
                }}
              >
                <div
                  class={sizes.classOf('grid-cell', -1)}
                  role="gridcell"
                  aria-colindex={1}
                  style={sizes.styleOf(-1)}
                >
                  <input
                    type="checkbox"
                    tabIndex={-1}
                    checked={isSelected}
                    aria-label={t('select', { name: props.nameOf(row) })}
                    onClick={(event) => selection.onToggle(place, event.shiftKey)}
                  />
                </div>
                {isNarrow ? (
                  <div class="grid-card" role="gridcell" aria-colindex={2}>
                    {props.card(row)}
                  </div>
                ) : (
                  columns.map(({ id, cell, isNumber }, i) => (
                    <div
                      key={id}
                      class={sizes.classOf(isNumber === true ? 'grid-cell number' : 'grid-cell', i)}
                      style={sizes.styleOf(i)}
                      role="gridcell"
                      aria-colindex={i + 2}
                    >
                      {cell(row)}
                    </div>
                  ))
                )}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

/** The height of a row, from the tokens of the density. */
function rowHeight(): number {
  const px = Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'))
  return Number.isNaN(px) ? 36 : px
}

function reveal(viewport: HTMLElement | null, place: number, rowPx: number): void {
  if (viewport === null) return
  const head = viewport.querySelector('.grid-head')?.clientHeight ?? 0
  const top = place * rowPx
  if (top < viewport.scrollTop) viewport.scrollTop = top
  const room = viewport.clientHeight - head - rowPx
  if (top > viewport.scrollTop + room) viewport.scrollTop = top - room
}

function focusRow(viewport: HTMLElement | null, place: number): void {
  const row = viewport?.querySelector(`[data-place="${place}"]`)
  if (row instanceof HTMLElement) row.focus({ preventScroll: true })
}
