// Devices on a plan: two metrics are their coordinates, both on one scale, and what is greater lies to the right and above.
import type { Size, Spot } from './map-view.ts'

/** Devices that have both coordinates, with their places in pixels. */
export interface Plan {
  readonly rows: Uint32Array
  readonly x: Float64Array
  readonly y: Float64Array
  /** Where the picture under them lies. */
  readonly picture: (Spot & Size) | undefined
}

/** A part of the plane, in the values of the two metrics. */
export interface Area {
  readonly left: number
  readonly bottom: number
  readonly right: number
  readonly top: number
}

export interface PlanValues {
  readonly x: Float64Array
  readonly y: Float64Array
  /** Degrees: away from the equator, a degree of longitude is shorter than one of latitude. */
  readonly isGeographic: boolean
}

/** No device is drawn closer to the edge. */
const EDGE_PX = 16

/** The whole of a picture that lies under the devices is on the plan, too. */
export function planOf(rows: Uint32Array, values: PlanValues, size: Size, picture?: Area): Plan {
  const placed = rows.filter((row) => Number.isFinite(values.x[row]) && Number.isFinite(values.y[row]))
  const { left, bottom, right, top } = areaOf(placed, values, picture)
  const stretch = values.isGeographic ? Math.cos((((bottom + top) / 2) * Math.PI) / 180) : 1
  const [wide, tall] = [(right - left) * stretch, top - bottom]
  const room = { width: size.width - 2 * EDGE_PX, height: size.height - 2 * EDGE_PX }
  // Devices that all stand in one place stand in the middle.
  const scale = Math.min(wide > 0 ? room.width / wide : Infinity, tall > 0 ? room.height / tall : Infinity)
  const px = (length: number) => (length === 0 ? 0 : length * scale)
  const from = { x: (size.width - px(wide)) / 2, y: (size.height + px(tall)) / 2 }
  const xOf = (value: number) => from.x + px((value - left) * stretch)
  const yOf = (value: number) => from.y - px(value - bottom)
  return {
    rows: placed,
    x: Float64Array.from(placed, (row) => xOf(values.x[row] ?? 0)),
    y: Float64Array.from(placed, (row) => yOf(values.y[row] ?? 0)),
    picture: picture && {
      x: xOf(picture.left),
      y: yOf(picture.top),
      width: xOf(picture.right) - xOf(picture.left),
      height: yOf(picture.bottom) - yOf(picture.top),
    },
  }
}

/** The least that holds all of these devices that have a place, and what else is given. */
export function areaOf(rows: Uint32Array, values: PlanValues, more?: Area): Area {
  const [left, right] = rangeOf(rows, values.x, more && [more.left, more.right])
  const [bottom, top] = rangeOf(rows, values.y, more && [more.bottom, more.top])
  return { left, bottom, right, top }
}

type Range = readonly [min: number, max: number]

function rangeOf(rows: Uint32Array, values: Float64Array, more: Range = [Infinity, -Infinity]): Range {
  let [min, max] = more
  for (const row of rows) {
    const value = values[row] ?? Number.NaN
    if (value < min) min = value
    if (value > max) max = value
  }
  return min > max ? [0, 0] : [min, max]
}

/** The device nearest to this spot, if it is within reach. Gives its place in the plan. */
export function pointAt({ rows, x, y }: Plan, spot: Spot, reachPx: number): number | undefined {
  let nearest: number | undefined
  let least = reachPx ** 2
  for (let i = 0; i < rows.length; i++) {
    const far = ((x[i] ?? 0) - spot.x) ** 2 + ((y[i] ?? 0) - spot.y) ** 2
    if (far <= least) {
      least = far
      nearest = i
    }
  }
  return nearest
}

const DIRECTIONS: Readonly<Record<string, Spot>> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
}

/** The device that an arrow key leads to: one ahead, and rather straight ahead than near. Devices in the same place follow
 *  one another to the right and below. */
export function nextPoint({ rows, x, y }: Plan, from: number, key: string): number {
  const to = DIRECTIONS[key]
  if (to === undefined) return from
  const isOnward = to.x + to.y > 0
  let [next, least] = [from, Infinity]
  for (let i = 0; i < rows.length; i++) {
    const [right, down] = [(x[i] ?? 0) - (x[from] ?? 0), (y[i] ?? 0) - (y[from] ?? 0)]
    const ahead = right * to.x + down * to.y
    const isSamePlace = right === 0 && down === 0
    if (isSamePlace ? isOnward !== i > from || i === from : ahead <= 0) continue
    const cost = isSamePlace
      ? Math.abs(i - from) / rows.length
      : 1 + ahead + 3 * Math.abs(right * to.y + down * to.x)
    if (cost < least) [next, least] = [i, cost]
  }
  return next
}

/** The devices between two corners. */
export function pointsWithin({ rows, x, y }: Plan, from: Spot, to: Spot): readonly number[] {
  const isBetween = (at: number, a: number, b: number) => at >= Math.min(a, b) && at <= Math.max(a, b)
  return Array.from(rows, (_, i) => i).filter(
    (i) => isBetween(x[i] ?? 0, from.x, to.x) && isBetween(y[i] ?? 0, from.y, to.y),
  )
}
