import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seeded } from '../../../engine/edge/simulator/roaming/random.ts'
import { type Fault, planFaults } from './faults.ts'

const targets = [
  { name: 'engine', kinds: ['kill', 'pause', 'stop'] },
  { name: 'broker', kinds: ['kill'] },
  { name: 'link', kinds: ['cut', 'slow', 'freeze'] },
] as const
const durationMs = 300_000
const plan = (seed: number) => planFaults(seeded(seed), { durationMs, targets })
const overlaps = (a: Fault, b: Fault) => a.atMs < b.atMs + b.forMs && b.atMs < a.atMs + a.forMs

test('a seed always makes the same plan, and another seed another one', () => {
  expect(plan(7)).toEqual(plan(7))
  expect(plan(7)).not.toEqual(plan(8))
})

test('a target has one fault at a time, at most two targets have one, and all end before the run', () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const faults = plan(seed)
      for (const [i, fault] of faults.entries()) {
        const under = faults.slice(0, i).filter((other) => overlaps(other, fault))
        expect(under.filter(({ target }) => target === fault.target)).toEqual([])
        expect(fault.atMs + fault.forMs).toBeLessThan(durationMs)
      }
    }),
    { numRuns: 50 },
  )
})

test('in a long run every fault happens to every target', () => {
  const seen = new Set(
    Array.from({ length: 20 }, (_, seed) => plan(seed))
      .flat()
      .map(({ target, kind }) => `${target} ${kind}`),
  )
  expect(seen.size).toBe(7)
})
