import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../schemas/json.ts'
import { isCovered, merge, Selections, select, toSelection } from './selection.ts'

const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.string(), fc.constant(null), fc.array(fc.integer()))
const key = fc.oneof(fc.constantFrom('a', 'b', 'c', '__proto__', 'a.b'), fc.string())
// The recursion ends, because its depth is bounded.
const report = fc.letrec<{ node: unknown; tree: JsonObject }>((tie) => ({
  node: fc.oneof({ maxDepth: 3 }, leaf, tie('tree')),
  tree: fc.dictionary(key, tie('node'), { maxKeys: 4 }) as fc.Arbitrary<JsonObject>,
})).tree

describe('choosing metrics', () => {
  test('selects names, everything below them, and names with dots', () => {
    const data = { odom: { x: 1, y: { z: 2 } }, odometer: 3, 'odom.x': 4, list: [1] }
    const chosen = (...names: string[]) => select(data, toSelection(names))
    expect(chosen('odom.x')).toEqual({ odom: { x: 1 }, 'odom.x': 4 })
    expect(chosen('odom.y.z', 'list')).toEqual({ odom: { y: { z: 2 } }, list: [1] })
    expect(chosen('odo', 'odom.y.z.q', '')).toBeUndefined()
  })

  test('selects a field if and only if a name is its path or a parent of it', () => {
    const isTaken = (path: string, names: readonly string[]) =>
      names.some((name) => path === name || path.startsWith(`${name}.`))
    const plain = (data: JsonObject, names: readonly string[], prefix = ''): JsonObject | undefined => {
      const parts = Object.entries(data).flatMap(([key, value]) => {
        const path = prefix + key
        if (isTaken(path, names)) return [[key, value] as const]
        if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
        // Arrays and null have been removed.
        const part = plain(value as JsonObject, names, `${path}.`)
        return part === undefined ? [] : [[key, part] as const]
      })
      return parts.length === 0 ? undefined : Object.fromEntries(parts)
    }
    const name = fc.array(fc.constantFrom('a', 'b', 'c', '__proto__', ''), { maxLength: 3 })
    const names = fc.array(name.map((levels) => levels.join('.')))
    fc.assert(
      fc.property(report, names, (data, chosen) => {
        expect(select(data, toSelection(chosen))).toEqual(plain(data, chosen))
      }),
    )
  })

  test('is shared by subscriptions with the same names, in any order', () => {
    const selections = new Selections(10)
    const open = (...names: string[]) => selections.open(names, 'u') ?? expect.fail('no room')
    const one = open('b', 'a', 'a')
    expect(open('a', 'b')).toBe(one)
    selections.close(one, 'u')
    expect(open('a', 'b')).toBe(one)
    selections.close(one, 'u')
    selections.close(one, 'u')
    expect(open('a', 'b')).not.toBe(one)
  })

  test('is limited for each user by the number of names', () => {
    const selections = new Selections(3)
    const one = selections.open(['a', 'b'], 'u')
    expect(selections.open(['a', 'b'], 'u')).toBeUndefined()
    expect(selections.open(['a', 'b'], 'other')).toBe(one)
    expect(selections.open(['c'], 'u')).toBeDefined()
    if (one !== undefined) selections.close(one, 'u')
    expect(selections.open(['d', 'e'], 'u')).toBeDefined()
  })

  test('looks names up without iterating over them', () => {
    const { prefixes: above } = toSelection(['a.b'])
    const names = new LookedUpNames(Array.from({ length: 100 }, (_, i) => `another.longer.name.${i}`))
    const data = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`some.longer.field.name.${i}`, i]))
    expect(select(data, { names, prefixes: above })).toBeUndefined()
    expect(names.lookups).toBeGreaterThanOrEqual(900)
  })
})

/** A set that fails if it is iterated: comparing each of 10 000 names with each field would take seconds. */
class LookedUpNames extends Set<string> {
  lookups = 0

  override has(name: string): boolean {
    this.lookups++
    return super.has(name)
  }

  override [Symbol.iterator](): never {
    throw new Error('the names were gone through')
  }
  override readonly keys = () => this[Symbol.iterator]()
  override readonly values = () => this[Symbol.iterator]()
  override readonly entries = () => this[Symbol.iterator]()
  override readonly forEach = () => this[Symbol.iterator]()
}

describe('merging reports', () => {
  test('keeps every field, and the newer value of each', () => {
    fc.assert(
      fc.property(report, report, (older, newer) => {
        const merged = merge(older, newer)
        expect(merge(merged, newer)).toEqual(merged)
        expect(isCovered(newer, merged)).toBe(true)
        expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
        if (isCovered(older, newer)) expect(merged).toEqual(newer)
      }),
    )
  })

  test('without new fields changes nothing', () => {
    fc.assert(
      fc.property(report, (data) => {
        expect(merge(data, {})).toEqual(data)
        expect(merge(data, data)).toEqual(data)
        expect(isCovered(data, data)).toBe(true)
      }),
    )
  })
})
