import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../schemas/json.ts'
import { isContained, isCovered, merge, Selections, select } from './selection.ts'

const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.string(), fc.constant(null), fc.array(fc.integer()))
const key = fc.oneof(fc.constantFrom('a', 'b', 'c', '__proto__', 'a.b'), fc.string())
// The depth is bounded, so the letrec ends.
const report = fc.letrec<{ node: unknown; tree: JsonObject }>((tie) => ({
  node: fc.oneof({ maxDepth: 3 }, leaf, tie('tree')),
  tree: fc.dictionary(key, tie('node'), { maxKeys: 4 }) as fc.Arbitrary<JsonObject>,
})).tree

describe('choosing metrics', () => {
  test('takes names, what is below them, and names with dots', () => {
    const data = { odom: { x: 1, y: { z: 2 } }, odometer: 3, 'odom.x': 4, list: [1] }
    expect(select(data, ['odom.x'])).toEqual({ odom: { x: 1 }, 'odom.x': 4 })
    expect(select(data, ['odom.y.z', 'list'])).toEqual({ odom: { y: { z: 2 } }, list: [1] })
    expect(select(data, ['odo', 'odom.y.z.q', ''])).toBeUndefined()
  })

  test('is shared by those who choose the same, in any order', () => {
    const selections = new Selections()
    const one = selections.open(['b', 'a', 'a'])
    expect(selections.open(['a', 'b'])).toBe(one)
    selections.close(one)
    expect(selections.open(['a', 'b'])).toBe(one)
    selections.close(one)
    selections.close(one)
    expect(selections.open(['a', 'b'])).not.toBe(one)
  })
})

describe('merging reports', () => {
  test('keeps every field, and the newer value of each', () => {
    fc.assert(
      fc.property(report, report, (older, newer) => {
        const merged = merge(older, newer)
        expect(isContained(newer, merged)).toBe(true)
        expect(isCovered(newer, merged)).toBe(true)
        expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
        if (isCovered(older, newer)) expect(merged).toEqual(newer)
      }),
    )
  })

  test('with nothing new changes nothing', () => {
    fc.assert(
      fc.property(report, (data) => {
        expect(merge(data, {})).toEqual(data)
        expect(merge(data, data)).toEqual(data)
        expect(isContained(data, data)).toBe(true)
      }),
    )
  })
})
