// biome-ignore-all lint/a11y/noInteractiveElementToNoninteractiveRole: the keys of the plan are its own, so it is an application.
// The plan on a canvas: a dot per device where it stands. It is moved, enlarged and selected on as the map is; the list beside
// it says the same in words.
import { type Signal, useSignal } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { pathOf } from '../../address/routes.ts'
import { useTheme } from '../../charts/colours.ts'
import { type Spot, spotOfMap, viewOnto } from '../../fleet/map-view.ts'
import {
  type Area,
  nextPoint,
  type Plan,
  type PlanValues,
  planOf,
  pointAt,
  pointsWithin,
} from '../../fleet/plan.ts'
import { columns, fleetVersion } from '../../live/fleet-index.ts'
import { navigate } from '../../navigation/navigation.ts'
import { plainText } from '../../parts/plain-text.ts'
import { stateWord } from '../../parts/state-words.ts'
import { STATUS_GLYPHS } from '../../parts/status-mark.tsx'
import { now } from '../../words/time.ts'
import { MapBox } from '../overview/map-box.tsx'
import { MapCard } from '../overview/map-card.tsx'
import { fillOf } from '../overview/map-colours.ts'
import { MapLegend } from '../overview/map-legend.tsx'
import { fillsOf, MapProbes } from '../overview/map-probes.tsx'
import { MapZoom, zoomByKey } from '../overview/map-zoom.tsx'
import { useMapView } from '../overview/use-map-view.ts'
import { useMapWidth } from '../overview/use-map-width.ts'
import { t } from './plan-words.ts'

const HEIGHT_PX = 560
const DOT_PX = 5
const GLYPH_PX = 16
const REACH_PX = 12
const STATUS_COLOURING = { colouring: 'status', metric: undefined, versions: undefined } as const

export interface PlanPicture extends Area {
  readonly url: string
}

export interface PlanMapProps {
  readonly rows: Uint32Array
  readonly values: PlanValues
  readonly picture: PlanPicture | undefined
  readonly selected: Signal<ReadonlySet<string>>
  readonly onPeek: (id: string) => void
}

export function PlanMap({ rows, values, picture, selected, onPeek }: PlanMapProps) {
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useMapWidth(frame)
  const at = useSignal<number | undefined>(undefined)
  const theme = useTheme()
  const size = width === 0 ? undefined : { width, height: HEIGHT_PX }
  const plan = useMemo(
    () => planOf(rows, values, { width, height: HEIGHT_PX }, picture),
    [rows, values, width, picture],
  )
  const idAt = (point: number | undefined) => columns.ids[plan.rows[point ?? -1] ?? -1]
  const map = useMapView(canvas, size, ({ from, to }) => {
    const corner = (spot: Spot) => spotOfMap(map.view.peek(), spot)
    const chosen = pointsWithin(plan, corner(from), corner(to))
    selected.value = new Set(chosen.flatMap((point) => idAt(point) ?? []))
  })
  const view = map.view.value
  const chosen = selected.value
  const version = fleetVersion.value
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d')
    if (context == null || frame.current === null || size === undefined) return
    paint(context, { plan, view, size, chosen, fills: fillsOf(frame.current) })
  }, [plan, view, chosen, version, width, theme])
  const placeOf = (point: number) => ({
    x: (plan.x[point] ?? 0) - DOT_PX,
    y: (plan.y[point] ?? 0) - DOT_PX,
    side: 2 * DOT_PX,
  })
  const under = ({ offsetX: x, offsetY: y }: MouseEvent) =>
    pointAt(plan, spotOfMap(view, { x, y }), REACH_PX / view.zoom)
  const onKeyDown = (event: KeyboardEvent) => {
    if (size === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    const current = at.peek()
    const id = idAt(current)
    if (event.key.startsWith('Arrow') && plan.rows.length > 0) {
      at.value = current === undefined ? 0 : nextPoint(plan, current, event.key)
      map.show(viewOnto(view, placeOf(at.value), size))
    } else if (event.key === 'Enter' && id !== undefined) navigate(pathOf('device', { device_id: id }))
    else if (event.key === ' ' && id !== undefined) onPeek(id)
    else if (!zoomByKey(event.key, map)) return
    event.preventDefault()
  }
  // A device may have left the plan since the cursor was set.
  const row = plan.rows[at.value ?? -1]
  return (
    <div class="map" ref={frame}>
      <MapProbes />
      <div class="map-frame" style={{ blockSize: `${HEIGHT_PX}px` }}>
        {picture !== undefined && plan.picture !== undefined && (
          <div class="plan-sheet">
            <img
              class="plan-picture"
              src={picture.url}
              alt={t('sheet')}
              style={{
                inlineSize: `${plan.picture.width * view.zoom}px`,
                blockSize: `${plan.picture.height * view.zoom}px`,
                transform: `translate(${(plan.picture.x - view.x) * view.zoom}px, ${(plan.picture.y - view.y) * view.zoom}px)`,
              }}
            />
          </div>
        )}
        <canvas
          ref={canvas}
          class={view.zoom > 1 ? 'map-canvas map-canvas-large' : 'map-canvas'}
          tabIndex={0}
          role="application"
          aria-label={t('label', { n: plan.rows.length })}
          onPointerMove={(event) => {
            at.value = map.isDragging() ? undefined : under(event)
          }}
          onPointerLeave={() => {
            at.value = undefined
          }}
          onBlur={() => {
            at.value = undefined
          }}
          onClick={(event) => {
            const id = map.isDragging() ? undefined : idAt(under(event))
            if (id !== undefined) onPeek(id)
          }}
          onKeyDown={onKeyDown}
        />
        {map.box.value !== undefined && <MapBox box={map.box.value} />}
        {row !== undefined && (
          <MapCard row={row} place={placeOf(at.value ?? 0)} view={view} width={width} value={undefined} />
        )}
      </div>
      <p class="visually-hidden" role="status">
        {row === undefined
          ? ''
          : `${plainText(columns.names[row] ?? '')}: ${stateWord(columns.statusAt(row))}`}
      </p>
      <div class="row map-foot">
        <MapLegend colouring="status" metric={undefined} versions={[]} />
        <MapZoom zoom={map.zoom} whole={map.whole} isEnlarged={view.zoom > 1} />
      </div>
    </div>
  )
}

interface PlanPaint {
  readonly plan: Plan
  readonly view: { readonly zoom: number; readonly x: number; readonly y: number }
  readonly size: { readonly width: number; readonly height: number }
  readonly chosen: ReadonlySet<string>
  readonly fills: ReturnType<typeof fillsOf>
}

function paint(context: CanvasRenderingContext2D, { plan, view, size, chosen, fills }: PlanPaint): void {
  const scale = devicePixelRatio
  context.canvas.width = Math.round(size.width * scale)
  context.canvas.height = Math.round(size.height * scale)
  context.scale(scale, scale)
  context.textAlign = 'center'
  context.textBaseline = 'middle'
  context.font = `600 ${GLYPH_PX}px system-ui`
  context.lineWidth = 2
  context.strokeStyle = `rgb(${fills.chosen.join(' ')})`
  const nowMs = now.peek()
  const colourOf = (name: keyof typeof fills) => `rgb(${fills[name].join(' ')})`
  plan.rows.forEach((row, point) => {
    const x = ((plan.x[point] ?? 0) - view.x) * view.zoom
    const y = ((plan.y[point] ?? 0) - view.y) * view.zoom
    if (x < -DOT_PX || y < -DOT_PX || x > size.width + DOT_PX || y > size.height + DOT_PX) return
    context.fillStyle = colourOf(fillOf(row, { columns, nowMs, ...STATUS_COLOURING }))
    context.beginPath()
    context.arc(x, y, DOT_PX, 0, 2 * Math.PI)
    const status = columns.statusAt(row)
    // What is well is a dot; what is not has its sign, so that no state is told by colour alone.
    if (status === 'online') context.fill()
    else context.fillText(STATUS_GLYPHS[status], x, y)
    if (chosen.has(columns.ids[row] ?? '')) context.stroke()
  })
}
