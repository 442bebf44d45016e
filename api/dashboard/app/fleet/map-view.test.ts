import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  clampedView,
  draggedView,
  readView,
  spotOfMap,
  viewOnto,
  WHOLE_MAP,
  writeView,
  ZOOM_MAX,
  zoomedView,
} from './map-view.ts'

const SIZE = { width: 800, height: 400 }
const anySpot = fc.record({ x: fc.integer({ min: 0, max: 800 }), y: fc.integer({ min: 0, max: 400 }) })
const anyView = fc
  .record({ zoom: fc.double({ min: 1, max: ZOOM_MAX, noNaN: true }), spot: anySpot })
  .map(({ zoom, spot }) => clampedView({ zoom, ...spot }, SIZE))

const isWithin = ({ zoom, x, y }: { zoom: number; x: number; y: number }) =>
  zoom >= 1 &&
  zoom <= ZOOM_MAX &&
  x >= 0 &&
  y >= 0 &&
  x + SIZE.width / zoom <= SIZE.width + 1e-6 &&
  y + SIZE.height / zoom <= SIZE.height + 1e-6

describe('the part of the map that is seen', () => {
  test('it stays within the map, whatever moves it', () => {
    fc.assert(
      fc.property(anyView, anySpot, fc.double({ min: 0.1, max: 10, noNaN: true }), (view, spot, factor) => {
        const drag = { x: spot.x - 400, y: spot.y - 200 }
        expect(isWithin(zoomedView(view, factor, { at: spot, size: SIZE }))).toBe(true)
        expect(isWithin(draggedView(view, drag, SIZE))).toBe(true)
        expect(isWithin(viewOnto(view, { ...spot, side: 3 }, SIZE))).toBe(true)
      }),
    )
  })

  test('what is under the pointer stays there when it is enlarged', () => {
    fc.assert(
      fc.property(anyView, anySpot, fc.double({ min: 1, max: 3, noNaN: true }), (view, at, factor) => {
        const before = spotOfMap(view, at)
        const after = spotOfMap(zoomedView(view, factor, { at, size: SIZE }), at)
        expect(after.x).toBeCloseTo(before.x)
        expect(after.y).toBeCloseTo(before.y)
      }),
    )
  })

  test('a cell that is not in sight is brought into it, and one that is moves nothing', () => {
    const view = { zoom: 4, x: 100, y: 100 }
    expect(viewOnto(view, { x: 110, y: 120, side: 10 }, SIZE)).toEqual(view)
    expect(viewOnto(view, { x: 300, y: 120, side: 10 }, SIZE)).toEqual({ zoom: 4, x: 110, y: 100 })
    expect(viewOnto(view, { x: 110, y: 0, side: 10 }, SIZE)).toEqual({ zoom: 4, x: 100, y: 0 })
  })

  test('an address brings back the same part, and a hostile one the whole map', () => {
    const view = clampedView({ zoom: 4, x: 200, y: 100 }, SIZE)
    expect(readView(writeView(view, SIZE), SIZE)).toEqual(view)
    expect(writeView(WHOLE_MAP, SIZE)).toBe('')
    for (const text of ['', '4', '4_1', 'a_b_c', '4_0_0_0', '__', 'Infinity_0_0', 'NaN_0_0'])
      expect(readView(text, SIZE)).toEqual(WHOLE_MAP)
    expect(isWithin(readView('1e9_-5_7', SIZE))).toBe(true)
  })
})
