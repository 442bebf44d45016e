// biome-ignore-all lint/a11y/noInteractiveElementToNoninteractiveRole: the keys of the map are its own, so it is an application.
// The map of the fleet on a canvas. What is under the pointer or the cursor is told beside it, and the table beside the map
// says the same in words.
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { pathOf } from '../../address/routes.ts'
import { type Block, type Cell, cellAt, cellPlace, layoutOf, nextCell } from '../../fleet/heat-map.ts'
import { columns, fleetVersion } from '../../live/fleet-index.ts'
import { navigate } from '../../navigation/navigation.ts'
import { Age } from '../../parts/age.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { STATUS_GLYPHS, StatusMark, statusWord } from '../../parts/status-mark.tsx'
import { now } from '../../words/time.ts'
import { type Colouring, FILL_NAMES, type Fills, paintMap } from './map-paint.ts'
import { t } from './overview-words.ts'

/** The map shares one screen with the counts above it. */
const HEIGHT_MAX = 560

export interface HeatMapProps {
  readonly blocks: readonly Block[]
  readonly colouring: Colouring
  readonly onPeek: (id: string) => void
  readonly onTable: () => void
  /** Shown where there are more devices than cells. */
  readonly fallback: preact.ComponentChildren
}

export function HeatMap({ blocks, colouring, onPeek, onTable, fallback }: HeatMapProps) {
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [width, setWidth] = useState(0)
  const at = useSignal<Cell | undefined>(undefined)
  const version = fleetVersion.value
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    setWidth(element.clientWidth)
    return () => observer.disconnect()
  }, [])
  const layout = useMemo(
    () => (width === 0 ? undefined : layoutOf(blocks, width, HEIGHT_MAX)),
    [blocks, width],
  )
  useLayoutEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (element === null || context == null || layout === undefined || frame.current === null) return
    const scale = devicePixelRatio
    element.width = Math.round(width * scale)
    element.height = Math.round(layout.height * scale)
    const fills = fillsOf(frame.current)
    paintMap(context, { layout, columns, colouring, fills, nowMs: now.peek(), scale })
  }, [layout, colouring, version, width])
  const rowAt = (cell: Cell | undefined) =>
    cell === undefined ? undefined : layout?.blocks[cell.block]?.block.rows[cell.cell]
  const onKeyDown = (event: KeyboardEvent) => {
    if (layout === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    const current = at.peek() ?? { block: 0, cell: 0 }
    const row = rowAt(current)
    const id = columns.ids[row ?? -1]
    if (event.key.startsWith('Arrow'))
      at.value = at.peek() === undefined ? current : nextCell(layout, current, event.key)
    else if (event.key === 'Enter' && id !== undefined) navigate(pathOf('device', { device_id: id }))
    else if (event.key === ' ' && id !== undefined) onPeek(id)
    else if (event.key === 'v') onTable()
    else return
    event.preventDefault()
  }
  const under = ({ offsetX, offsetY }: PointerEvent | MouseEvent) =>
    layout === undefined ? undefined : cellAt(layout, offsetX, offsetY)
  const row = rowAt(at.value)
  return (
    <div class="map" ref={frame}>
      <div class="map-probes" aria-hidden="true">
        {FILL_NAMES.map((name) => (
          <span key={name} class={`map-fill-${name}`} />
        ))}
      </div>
      {width > 0 && layout === undefined ? (
        fallback
      ) : (
        <div class="map-frame" style={{ blockSize: `${layout?.height ?? 0}px` }}>
          <canvas
            ref={canvas}
            class="map-canvas"
            tabIndex={0}
            role="application"
            aria-label={t('mapLabel', {
              n: blocks.reduce((sum, block) => sum + block.rows.length, 0),
              groups: blocks.length,
            })}
            onPointerMove={(event) => {
              at.value = under(event)
            }}
            onPointerLeave={() => {
              at.value = undefined
            }}
            onBlur={() => {
              at.value = undefined
            }}
            onClick={(event) => {
              const id = columns.ids[rowAt(under(event)) ?? -1]
              if (id !== undefined) onPeek(id)
            }}
            onKeyDown={onKeyDown}
          />
          {layout?.blocks.map(({ block, x, y, width: blockWidth }) => (
            <a
              key={block.name}
              class="map-label"
              href={pathOf('devices', {}, { q: block.name === '' ? undefined : `group:${block.name}` })}
              style={{ transform: `translate(${x}px, ${y}px)`, inlineSize: `${blockWidth}px` }}
              title={`${plainText(block.name)} · ${block.rows.length}`}
            >
              {block.name === '' ? t('noGroup') : plainText(block.name)}
            </a>
          ))}
          {row !== undefined && layout !== undefined && at.value !== undefined && (
            <Card row={row} cell={at.value} layout={layout} width={width} />
          )}
        </div>
      )}
      <p class="visually-hidden" role="status">
        {row === undefined
          ? ''
          : `${plainText(columns.names[row] ?? '')}: ${statusWord(columns.statusAt(row))}`}
      </p>
      {colouring === 'status' && (
        <ul class="map-legend" aria-hidden="true">
          {FILL_NAMES.map((name) => (
            <li key={name}>
              <span class={`map-swatch map-fill-${name}`} /> {STATUS_GLYPHS[name]} {statusWord(name)}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

interface CardProps {
  readonly row: number
  readonly cell: Cell
  readonly layout: NonNullable<ReturnType<typeof layoutOf>>
  readonly width: number
}

const CARD_WIDTH_PX = 240

function Card({ row, cell, layout, width }: CardProps) {
  const block = layout.blocks[cell.block]
  if (block === undefined) return null
  const { x, y } = cellPlace(block, cell.cell, layout.cellPx)
  const left = Math.max(0, Math.min(x, width - CARD_WIDTH_PX))
  return (
    <>
      <span
        class="map-cursor"
        style={{
          transform: `translate(${x - 1}px, ${y - 1}px)`,
          inlineSize: `${layout.cellPx + 1}px`,
          blockSize: `${layout.cellPx + 1}px`,
        }}
      />
      <div class="map-card" style={{ transform: `translate(${left}px, ${y + layout.cellPx + 6}px)` }}>
        <strong>{plainText(columns.names[row] ?? '')}</strong>
        <code>{columns.ids[row]}</code>
        <span>
          <StatusMark status={columns.statusAt(row)} /> · <Age at={columns.since[row] || undefined} />
        </span>
      </div>
    </>
  )
}

/** The fills as the browser shows them now: the tokens depend on the theme. */
function fillsOf(frame: HTMLElement): Fills {
  const entries = FILL_NAMES.map((name) => {
    const probe = frame.querySelector(`.map-probes .map-fill-${name}`)
    const colour = probe === null ? '' : getComputedStyle(probe).backgroundColor
    const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number)
    return [name, [red, green, blue]]
  })
  // Every name has its entry.
  return Object.fromEntries(entries) as Fills
}
