// biome-ignore-all lint/a11y/noInteractiveElementToNoninteractiveRole: the keys of the map are its own, so it is an application.
// The map of the fleet on a canvas. What is under the pointer or the cursor is told beside it, and the table beside the map
// says the same in words.
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { pathOf } from '../../address/routes.ts'
import { useTheme } from '../../charts/colours.ts'
import {
  type Block,
  type Cell,
  cellAt,
  cellPlace,
  cellsFrom,
  cellsWithin,
  layoutOf,
  type MapLayout,
  nextCell,
} from '../../fleet/map-layout.ts'
import { type MapView, spotOfMap, viewOnto } from '../../fleet/map-view.ts'
import { columns, fleetVersion } from '../../live/fleet-index.ts'
import { navigate } from '../../navigation/navigation.ts'
import { plainText } from '../../parts/plain-text.ts'
import { stateWord } from '../../parts/state-words.ts'
import { now } from '../../words/time.ts'
import { number } from '../../words/words.ts'
import { MapBox } from './map-box.tsx'
import { MapCard } from './map-card.tsx'
import type { Colouring, MetricColouring } from './map-colours.ts'
import { MapLegend } from './map-legend.tsx'
import { paintMap } from './map-paint.ts'
import { fillsOf, MapProbes } from './map-probes.tsx'
import { MapZoom, zoomByKey } from './map-zoom.tsx'
import { t } from './overview-words.ts'
import { useMapView } from './use-map-view.ts'
import { useMapWidth } from './use-map-width.ts'
import type { VersionColouring } from './version-fills.ts'

/** The map shares one screen with the counts above it. */
const HEIGHT_MAX = 560
/** Fifty thousand devices have their cells, too, before shares take their place. */
const HEIGHT_FULL_MAX = 1080
/** The mark of the first picture, for who measures how soon it is there. */
const DRAWN = 'fleet-drawn'
/** How far the map has to be enlarged until a cell is as large as this. */
const CELL_PX_MAX = 120

export interface HeatMapProps {
  readonly blocks: readonly Block[]
  readonly colouring: Colouring
  readonly metric: MetricColouring | undefined
  readonly versions: VersionColouring | undefined
  readonly selected: ReadonlySet<string>
  readonly onSelect: (ids: readonly string[]) => void
  readonly onPeek: (id: string) => void
  readonly onTable: () => void
  /** Shown where there are more devices than cells. */
  readonly fallback: preact.ComponentChildren
}

export function HeatMap(props: HeatMapProps) {
  const { blocks, colouring, metric, versions, selected, onSelect, onPeek, onTable, fallback } = props
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useMapWidth(frame)
  const at = useSignal<Cell | undefined>(undefined)
  /** Where a selection by keys began. */
  const anchor = useRef<Cell | undefined>(undefined)
  const version = fleetVersion.value
  const layout = useMemo(
    () =>
      width === 0
        ? undefined
        : (layoutOf(blocks, width, HEIGHT_MAX) ?? layoutOf(blocks, width, HEIGHT_FULL_MAX)),
    [blocks, width],
  )
  const size = layout === undefined ? undefined : { width, height: layout.height }
  const map = useMapView(canvas, size, ({ from, to }) => {
    if (layout !== undefined)
      choose(cellsWithin(layout, spotOfMap(map.view.peek(), from), spotOfMap(map.view.peek(), to)))
  })
  const view = map.view.value
  const theme = useTheme()
  useLayoutEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (element === null || context == null || layout === undefined || frame.current === null) return
    const scale = devicePixelRatio
    element.width = Math.round(width * scale)
    element.height = Math.round(layout.height * scale)
    const fills = fillsOf(frame.current)
    const nowMs = now.peek()
    paintMap(context, {
      ...{ layout, view, columns, colouring, metric, fills, nowMs, scale, selected },
      versions: versions?.fillOf,
    })
    if (performance.getEntriesByName(DRAWN).length === 0) performance.mark(DRAWN)
  }, [layout, view, colouring, metric, versions, selected, version, width, theme])
  const rowAt = (cell: Cell | undefined) =>
    cell === undefined ? undefined : layout?.blocks[cell.block]?.block.rows[cell.cell]
  const choose = (cells: readonly Cell[]) =>
    onSelect(cells.flatMap((cell) => columns.ids[rowAt(cell) ?? -1] ?? []))
  const placeOf = (cell: Cell) => {
    const block = layout?.blocks[cell.block]
    return layout && block && { ...cellPlace(block, cell.cell, layout.cellPx), side: layout.cellPx }
  }
  const zoom = (factor: number) => {
    const place = at.peek() && placeOf(at.peek() ?? { block: 0, cell: 0 })
    if (layout !== undefined && factor > 1 && layout.cellPx * view.zoom >= CELL_PX_MAX) return
    map.zoom(factor, place && { x: (place.x - view.x) * view.zoom, y: (place.y - view.y) * view.zoom })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (layout === undefined || size === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    const current = at.peek() ?? { block: 0, cell: 0 }
    const id = columns.ids[rowAt(current) ?? -1]
    if (event.key.startsWith('Arrow')) {
      if (!event.shiftKey) anchor.current = undefined
      else anchor.current ??= current
      at.value = at.peek() === undefined ? current : nextCell(layout, current, event.key)
      if (anchor.current !== undefined) choose(cellsFrom(layout, anchor.current, at.value))
      const place = placeOf(at.value)
      if (place !== undefined) map.show(viewOnto(view, place, size))
    } else if (event.key === 'Enter' && id !== undefined) navigate(pathOf('device', { device_id: id }))
    else if (event.key === ' ' && id !== undefined) onPeek(id)
    else if (event.key === 'v') onTable()
    else if (!zoomByKey(event.key, { zoom, whole: map.whole })) return
    event.preventDefault()
  }
  const under = ({ offsetX: x, offsetY: y }: PointerEvent | MouseEvent) => {
    if (layout === undefined) return undefined
    const spot = spotOfMap(view, { x, y })
    return cellAt(layout, spot.x, spot.y)
  }
  const row = rowAt(at.value)
  const place = at.value && placeOf(at.value)
  return (
    <div class="map" ref={frame}>
      <MapProbes />
      {width > 0 && layout === undefined ? (
        fallback
      ) : (
        <div class="map-frame" style={{ blockSize: `${layout?.height ?? 0}px` }}>
          <canvas
            ref={canvas}
            class={view.zoom > 1 ? 'map-canvas map-canvas-large' : 'map-canvas'}
            tabIndex={0}
            role="application"
            aria-label={t('mapLabel', {
              n: blocks.reduce((sum, block) => sum + block.rows.length, 0),
              groups: blocks.length,
            })}
            onPointerMove={(event) => {
              at.value = map.isDragging() ? undefined : under(event)
            }}
            onPointerLeave={() => {
              at.value = undefined
            }}
            onBlur={() => {
              at.value = undefined
              anchor.current = undefined
            }}
            onClick={(event) => {
              const id = map.isDragging() ? undefined : columns.ids[rowAt(under(event)) ?? -1]
              if (id !== undefined) onPeek(id)
            }}
            onKeyDown={onKeyDown}
          />
          {map.box.value !== undefined && <MapBox box={map.box.value} />}
          {layout !== undefined && <GroupLabels layout={layout} view={view} />}
          {row !== undefined && place !== undefined && layout !== undefined && (
            <MapCard row={row} place={place} view={view} width={width} value={metric?.values[row]} />
          )}
        </div>
      )}
      <p class="visually-hidden" role="status">
        {row === undefined
          ? ''
          : `${plainText(columns.names[row] ?? '')}: ${stateWord(columns.statusAt(row))}${spoken(metric?.values[row])}`}
      </p>
      <div class="row map-foot">
        <MapLegend colouring={colouring} metric={metric} versions={versions?.versions ?? []} />
        {layout !== undefined && <MapZoom zoom={zoom} whole={map.whole} isEnlarged={view.zoom > 1} />}
      </div>
    </div>
  )
}

function GroupLabels({ layout, view }: { readonly layout: MapLayout; readonly view: MapView }) {
  return (
    <div class="map-labels">
      {layout.blocks.map(({ block, x, y, width: blockWidth }) => (
        <a
          key={block.name}
          class="map-label"
          href={pathOf('devices', {}, { q: block.name === '' ? undefined : `group:${block.name}` })}
          style={{
            transform: `translate(${(x - view.x) * view.zoom}px, ${(y - view.y) * view.zoom}px)`,
            inlineSize: `${blockWidth * view.zoom}px`,
          }}
          title={`${plainText(block.name)} · ${block.rows.length}`}
        >
          {block.name === '' ? t('withoutGroup') : plainText(block.name)}
        </a>
      ))}
    </div>
  )
}

const spoken = (value: number | undefined) =>
  value === undefined ? '' : `, ${Number.isNaN(value) ? t('noValue') : number(value)}`
