// A shadow, under writes in any order, checked against a small model.
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { shadowDelta } from './delta.ts'
import { merge } from './merge.ts'
import { type Author, NEW_SHADOW, SECTIONS, type Section, type Shadow, type ShadowChange } from './record.ts'
import { setDesired, setReported } from './write.ts'

const by: Author = { kind: 'user', id: 'usr_1' }
const key = fc.constantFrom('a', 'b', 'c', 'constructor')
const leaf = fc.oneof(
  fc.boolean(),
  fc.integer({ min: 0, max: 2 }),
  fc.constant(null),
  fc.constant(0).map(() => [1, null]),
)
const patch = fc.letrec<{ patch: JsonObject }>((tie) => ({
  patch: fc
    .array(fc.tuple(key, fc.oneof({ depthSize: 'small' }, leaf, tie('patch'))), { maxLength: 3 })
    .map((entries): JsonObject => Object.fromEntries(entries)),
})).patch
const write = fc.record({
  section: fc.constantFrom(...SECTIONS),
  mode: fc.constantFrom<'merge' | 'replace'>('merge', 'merge', 'replace'),
  patch,
  /** The difference between the version expected and the current one. */
  off: fc.constantFrom(undefined, undefined, 0, 0, -1, 1),
})
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never

/** RFC 7396's pseudocode, on a copy. */
function naive(target: Json | undefined, change: Json): Json {
  if (typeof change !== 'object' || change === null || Array.isArray(change)) return change
  const isMap = typeof target === 'object' && target !== null && !Array.isArray(target)
  const result = new Map<string, Json>(isMap ? Object.entries(structuredClone(target)) : [])
  for (const [name, value] of Object.entries(change)) {
    if (value === null) result.delete(name)
    else result.set(name, naive(result.get(name), value))
  }
  return Object.fromEntries(result)
}

function apply(shadow: Shadow, { section, mode, patch: change, off }: Write, now: Millis) {
  const options = { now, by, expectedVersion: off === undefined ? undefined : shadow.version + off }
  return section === 'desired'
    ? setDesired(shadow, change, { ...options, mode })
    : setReported(shadow, change, options)
}

test('whatever is written, versions grow by one, history rebuilds the state, and no-ops return the same reference', () => {
  fc.assert(
    fc.property(fc.array(write, { maxLength: 12 }), (writes) => {
      let shadow: Shadow = NEW_SHADOW
      const model: Record<Section, Json> = { desired: {}, reported: {} }
      const history: ShadowChange[] = []
      writes.forEach((next, i) => {
        const before = structuredClone(shadow)
        const outcome = apply(shadow, next, Millis(i))
        const isWhole = next.section === 'desired' && next.mode === 'replace'
        const wanted = naive(isWhole ? {} : model[next.section], next.patch)
        expect(shadow).toEqual(before)
        if (next.off !== undefined && next.off !== 0) {
          expect(outcome).toMatchObject({ kind: 'refused', code: 'DEVICE_SHADOW_CONFLICT' })
          return
        }
        if (outcome.kind === 'refused') throw new Error(outcome.code)
        expect(outcome.kind).toBe(isDeepStrictEqual(wanted, model[next.section]) ? 'unchanged' : 'changed')
        model[next.section] = wanted
        if (outcome.kind === 'unchanged') expect(outcome.shadow).toBe(shadow)
        else {
          expect(outcome.shadow.version).toBe(shadow.version + 1)
          history.push(outcome.change)
        }
        expect(outcome.shadow[next.section]).toEqual(wanted)
        shadow = outcome.shadow
      })
      const forward: Record<Section, JsonObject> = { desired: {}, reported: {} }
      for (const { section, patch: change } of history) forward[section] = merge(forward[section], change)
      expect(forward).toEqual({ desired: shadow.desired, reported: shadow.reported })
      for (const { section, previous } of history.toReversed())
        forward[section] = merge(forward[section], previous)
      expect(forward).toEqual({ desired: {}, reported: {} })
      expect(history.map(({ version }) => version)).toEqual(history.map((_, i) => i + 1))
    }),
    { numRuns: 1_000 },
  )
})

test('a device that applies the delta is in sync', () => {
  fc.assert(
    fc.property(fc.array(write, { maxLength: 8 }), (writes) => {
      let shadow: Shadow = NEW_SHADOW
      for (const next of writes) {
        const outcome = apply(shadow, { ...next, off: undefined }, Millis(1))
        if (outcome.kind === 'changed') shadow = outcome.shadow
      }
      const applied = setReported(shadow, shadowDelta(shadow).state, { now: Millis(2), by })
      expect(applied.kind === 'refused').toBe(false)
      if (applied.kind !== 'refused') expect(shadowDelta(applied.shadow).state).toEqual({})
      expect(applied.kind === 'unchanged').toBe(Object.keys(shadowDelta(shadow).state).length === 0)
    }),
    { numRuns: 1_000 },
  )
})
