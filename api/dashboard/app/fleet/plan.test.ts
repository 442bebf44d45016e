import { describe, expect, test } from 'vitest'
import { areaOf, nextPoint, planOf, pointAt, pointsWithin } from './plan.ts'

const SIZE = { width: 232, height: 132 }
const values = (x: readonly number[], y: readonly number[], isGeographic = false) => ({
  x: Float64Array.from(x),
  y: Float64Array.from(y),
  isGeographic,
})
const all = (count: number) => Uint32Array.from({ length: count }, (_, row) => row)
const placesOf = ({ x, y }: ReturnType<typeof planOf>) => Array.from(x, (at, i) => [at, y[i]])

describe('a plan of devices', () => {
  test('both axes have one scale, what is greater lies to the right and above, and who has no place is left out', () => {
    const plan = planOf(all(4), values([0, 10, 0, Number.NaN], [0, 0, 10, 5]), SIZE)
    expect(Array.from(plan.rows)).toEqual([0, 1, 2])
    // A square of 100 px in the middle of the window.
    expect(placesOf(plan)).toEqual([
      [66, 116],
      [166, 116],
      [66, 16],
    ])
  })

  test('a picture lies where its corners are, and is seen as a whole with the devices beside it', () => {
    const picture = { left: 0, bottom: -10, right: 20, top: 0 }
    const plan = planOf(all(2), values([0, 10], [0, 0]), SIZE, picture)
    expect(plan.picture).toEqual({ x: 16, y: 16, width: 200, height: 100 })
    expect(placesOf(plan)).toEqual([
      [16, 16],
      [116, 16],
    ])
    expect(planOf(all(0), values([], []), SIZE, picture).picture).toEqual(plan.picture)
    expect(areaOf(all(3), values([1, 3, Number.NaN], [5, 4, 9]))).toEqual({
      left: 1,
      bottom: 4,
      right: 3,
      top: 9,
    })
    expect(areaOf(all(0), values([], []))).toEqual({ left: 0, bottom: 0, right: 0, top: 0 })
  })

  test('degrees of longitude are as short as they are at their latitude', () => {
    const { x } = planOf(all(2), values([10, 11], [59.5, 60.5], true), SIZE)
    expect((x[1] ?? 0) - (x[0] ?? 0)).toBeCloseTo(50, 5)
  })

  test('devices in one place stand in the middle, and nobody makes an empty plan', () => {
    expect(placesOf(planOf(all(2), values([7, 7], [3, 3]), SIZE))).toEqual([
      [116, 66],
      [116, 66],
    ])
    expect(placesOf(planOf(all(0), values([], []), SIZE))).toEqual([])
  })

  test('the nearest device within reach is under the pointer, and a box holds those between its corners', () => {
    const plan = planOf(all(3), values([0, 10, 0], [0, 0, 10]), SIZE)
    expect(pointAt(plan, { x: 160, y: 110 }, 10)).toBe(1)
    expect(pointAt(plan, { x: 120, y: 60 }, 10)).toBeUndefined()
    expect(pointsWithin(plan, { x: 180, y: 130 }, { x: 60, y: 100 })).toEqual([0, 1])
  })

  test('arrow keys lead to every device, also to those that stand in the same place', () => {
    const plan = planOf(all(5), values([0, 10, 0, 10, 10], [0, 0, 10, 0, 9]), SIZE)
    expect(nextPoint(plan, 0, 'ArrowUp')).toBe(2)
    expect(nextPoint(plan, 2, 'ArrowDown')).toBe(0)
    expect(nextPoint(plan, 0, 'ArrowRight')).toBe(1)
    expect(nextPoint(plan, 1, 'ArrowRight')).toBe(3)
    expect(nextPoint(plan, 3, 'ArrowUp')).toBe(1)
    expect(nextPoint(plan, 1, 'ArrowUp')).toBe(4)
    expect(nextPoint(plan, 4, 'ArrowUp')).toBe(2)
    expect(nextPoint(plan, 2, 'ArrowUp')).toBe(2)
  })
})
