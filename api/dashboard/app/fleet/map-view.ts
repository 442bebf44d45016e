// The part of the map that is seen: how much larger than the whole, and from which corner on. The map is as large as the
// window that it is seen through, and never leaves it.
export interface MapView {
  readonly zoom: number
  /** The corner at the top left, in pixels of the map that is not enlarged. */
  readonly x: number
  readonly y: number
}

export interface Size {
  readonly width: number
  readonly height: number
}

export interface Spot {
  readonly x: number
  readonly y: number
}

export const WHOLE_MAP: MapView = { zoom: 1, x: 0, y: 0 }
export const ZOOM_MAX = 16

export function clampedView({ zoom, x, y }: MapView, { width, height }: Size): MapView {
  const large = Math.min(ZOOM_MAX, Math.max(1, zoom))
  const within = (at: number, whole: number) => Math.min(Math.max(0, at), whole - whole / large)
  return { zoom: large, x: within(x, width), y: within(y, height) }
}

/** What is at this spot of the window stays there. */
export function zoomedView(view: MapView, factor: number, { at, size }: { at: Spot; size: Size }): MapView {
  const zoom = Math.min(ZOOM_MAX, Math.max(1, view.zoom * factor))
  const under = spotOfMap(view, at)
  return clampedView({ zoom, x: under.x - at.x / zoom, y: under.y - at.y / zoom }, size)
}

/** Moves the map by pixels of the window, as a hand drags a sheet. */
export function draggedView(view: MapView, { x, y }: Spot, size: Size): MapView {
  return clampedView({ ...view, x: view.x - x / view.zoom, y: view.y - y / view.zoom }, size)
}

/** Moved as little as shows all of this square of the map. */
export function viewOnto(
  view: MapView,
  { x, y, side }: Spot & { readonly side: number },
  size: Size,
): MapView {
  const along = (from: number, at: number, whole: number) => {
    const seen = whole / view.zoom
    return at < from ? at : at + side > from + seen ? at + side - seen : from
  }
  return clampedView({ ...view, x: along(view.x, x, size.width), y: along(view.y, y, size.height) }, size)
}

/** What of the map is at this spot of the window. */
export function spotOfMap({ zoom, x, y }: MapView, at: Spot): Spot {
  return { x: x + at.x / zoom, y: y + at.y / zoom }
}

/** The view in an address: the zoom, and the corner as shares of the map, so that it means the same in a window of another size. */
export function writeView({ zoom, x, y }: MapView, { width, height }: Size): string {
  if (zoom === 1) return ''
  const share = (part: number, whole: number) => (whole === 0 ? '0' : (part / whole).toFixed(4))
  return [zoom.toFixed(2), share(x, width), share(y, height)].map((text) => String(Number(text))).join('_')
}

/** The whole map if the text is none of ours. */
export function readView(text: string, size: Size): MapView {
  const [zoom = Number.NaN, x = Number.NaN, y = Number.NaN, ...more] = text.split('_').map(Number)
  if (more.length > 0 || ![zoom, x, y].every(Number.isFinite)) return WHOLE_MAP
  return clampedView({ zoom, x: x * size.width, y: y * size.height }, size)
}
