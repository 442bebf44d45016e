import { expect, test } from 'vitest'
import { BATCH_STEPS } from './faults.ts'
import { simulate } from './simulate.ts'

const SEEDS = 200

test(`${SEEDS} seeds: nothing acknowledged is lost, doubled, out of order or forgotten`, {
  timeout: 1_800_000,
}, async () => {
  const died = new Set<string>()
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violations, deaths } = await simulate(seed)
    expect(violations, `replay it: npm run sim -- --seed ${seed}`).toEqual([])
    for (const where of deaths) died.add(where)
  }
  // Processes died between any two steps of a batch (R4).
  expect([...died]).toEqual(expect.arrayContaining([...BATCH_STEPS]))
})

test('a seed gives the same trace twice, byte for byte', { timeout: 600_000 }, async () => {
  for (const seed of [3, 17, 42]) {
    const [first, second] = [await simulate(seed), await simulate(seed)]
    expect(second.hash).toBe(first.hash)
  }
})
