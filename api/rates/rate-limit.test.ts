import fc from 'fast-check'
import { expect, test } from 'vitest'
import { API_LIMITS } from '../limits.ts'
import { RateLimit } from './rate-limit.ts'

test('a burst of one second’s requests is allowed, then one per step', () => {
  for (const perSec of [1, 3, 7, 10, 100, 1_000]) {
    const limit = new RateLimit('user', perSec)
    const taken = (now: number) => Array.from({ length: perSec + 5 }, () => limit.take('a', now))
    expect(taken(5_000).filter((ahead) => ahead > 0)).toHaveLength(perSec)
    expect(limit.take('a', 5_000)).toBeCloseTo(-1_000 / perSec)
    expect(limit.take('b', 5_000)).toBeGreaterThan(0)
    expect(limit.take('a', 5_000 + 1_000 / perSec)).toBeGreaterThan(0)
    expect(limit.take('a', 5_000 + 1_000 / perSec)).toBeLessThan(0)
    expect(taken(9_000).filter((ahead) => ahead > 0)).toHaveLength(perSec)
  }
})

test('the state tells how much is left, and when the limit is fully available again', () => {
  const limit = new RateLimit('user', 10)
  expect(limit.policy).toBe('"user";q=10;w=1')
  const states = Array.from({ length: 12 }, () => limit.stateOf(limit.take('a', 0)))
  expect(states.slice(0, 2)).toEqual(['"user";r=9;t=1', '"user";r=8;t=1'])
  expect(states.slice(-3)).toEqual(['"user";r=0;t=1', '"user";r=0;t=1', '"user";r=0;t=1'])
})

test('no second has more than twice the rate, and nothing below the rate is refused', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 20 }), (steps, perSec) => {
      const limit = new RateLimit('user', perSec)
      const asked: { readonly at: number; readonly isTaken: boolean }[] = []
      let at = 0
      for (const step of steps) {
        at += step
        asked.push({ at, isTaken: limit.take('a', at) > 0 })
      }
      for (const [index, { at, isTaken }] of asked.entries()) {
        const before = asked.slice(0, index + 1).filter((each) => each.at > at - 1_000)
        expect(before.filter((each) => each.isTaken).length).toBeLessThanOrEqual(2 * perSec)
        if (before.length <= perSec && index < perSec) expect(isTaken).toBe(true)
      }
    }),
  )
})

test('a flood of callers takes bounded memory, and none of them is refused', () => {
  const limit = new RateLimit('address', 1)
  let refused = 0
  for (let i = 0; i < API_LIMITS.rateKeysMax * 2.5; i++) refused += limit.take(`k${i}`, 0) > 0 ? 0 : 1
  expect(refused).toBe(0)
  // Of the two maps, the older one is dropped first.
  expect(limit.take(`k${API_LIMITS.rateKeysMax * 2.5 - 1}`, 0)).toBeLessThan(0)
  expect(limit.take('k0', 0)).toBeGreaterThan(0)
})
