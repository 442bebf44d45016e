import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonObject } from '../../../schemas/json.ts'
import { isEmpty, isEqual } from './json-object.ts'
import { computeDelta, difference, merge } from './merge.ts'

const parse = (text: string): JsonObject => JSON.parse(text)
const key = fc.oneof(fc.constantFrom('a', 'b', 'c', 'a.b', '__proto__', 'constructor', 'toString'))
const leaf = fc.oneof(fc.boolean(), fc.integer({ min: -2, max: 2 }), fc.string({ maxLength: 2 }))
const { state, patch } = fc.letrec<{ state: JsonObject; patch: JsonObject }>((tie) => {
  const objectOf = (value: fc.Arbitrary<unknown>) =>
    fc.array(fc.tuple(key, value), { maxLength: 4 }).map((entries) => Object.fromEntries(entries))
  return {
    state: objectOf(fc.oneof({ depthSize: 'small' }, leaf, fc.array(leaf, { maxLength: 2 }), tie('state'))),
    patch: objectOf(
      fc.oneof(
        { depthSize: 'small' },
        leaf,
        fc.constant(null),
        fc.array(leaf, { maxLength: 2 }),
        tie('patch'),
      ),
    ),
  } as { state: fc.Arbitrary<JsonObject>; patch: fc.Arbitrary<JsonObject> }
})

/** The examples of RFC 7396, Appendix A, whose target and patch are objects. */
const RFC = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
] as const

test.each(RFC)('%s merged with %s gives %s', (target, change, result) => {
  expect(merge(parse(target), parse(change))).toEqual(parse(result))
})

test('a patch that changes nothing gives the same reference', () => {
  const target = parse('{"a":{"b":[1,{"c":2}]},"d":1}')
  expect(merge(target, parse('{"a":{"b":[1,{"c":2}],"x":null},"d":1,"e":null}'))).toBe(target)
})

test('a patched object shares what did not change', () => {
  const target = parse('{"a":{"b":1},"c":{"d":1}}')
  expect(merge(target, parse('{"c":{"d":2}}'))['a']).toBe(target['a'])
})

test('a patch with a key called __proto__ touches no prototype', () => {
  const merged = merge({}, parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"x":1}}}'))
  expect(Object.keys(merged)).toEqual(['__proto__', 'constructor'])
  expect(Object.getPrototypeOf(merged)).toBe(Object.prototype)
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  expect(merge(merged, parse('{"__proto__":null,"constructor":null}'))).toEqual({})
})

test('applying a patch twice is the same as once', () => {
  fc.assert(
    fc.property(state, patch, (target, change) => {
      const once = merge(target, change)
      expect(merge(once, change)).toBe(once)
    }),
    { numRuns: 1_000 },
  )
})

test('a difference turns one state into the other, and is empty between equal states', () => {
  fc.assert(
    fc.property(state, state, (before, after) => {
      const change = difference(before, after)
      expect(isEqual(merge(before, change), after)).toBe(true)
      expect(isEmpty(change)).toBe(isEqual(before, after))
    }),
    { numRuns: 1_000 },
  )
})

test('a state merged with its delta has no delta', () => {
  fc.assert(
    fc.property(state, state, (desired, reported) => {
      const delta = computeDelta(desired, reported)
      expect(computeDelta(desired, merge(reported, delta))).toEqual({})
      expect(isEmpty(delta) && !isEmpty(computeDelta(desired, {})) && isEmpty(reported)).toBe(false)
    }),
    { numRuns: 1_000 },
  )
})

test('a delta keeps the path to a leaf, and leaves out leaves that are only reported', () => {
  const desired = parse('{"net":{"wifi":{"ssid":"a","band":5}},"list":[1,2],"mode":{}}')
  const reported = parse(
    '{"net":{"wifi":{"ssid":"a","band":2},"ip":"x"},"list":[2,1],"mode":{"on":true},"up":1}',
  )
  expect(computeDelta(desired, reported)).toEqual({ net: { wifi: { band: 5 } }, list: [1, 2] })
})
