import { expect, test } from 'vitest'
import { simulate } from './simulate.ts'

const SEEDS = 200

test(`${SEEDS} seeds: nothing acknowledged is lost, doubled, out of order or forgotten`, {
  timeout: 300_000,
}, async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violations } = await simulate(seed)
    expect(violations, `replay it: npm run sim -- --seed ${seed}`).toEqual([])
  }
})

test('a seed tells the same story twice, byte for byte', { timeout: 60_000 }, async () => {
  for (const seed of [3, 17, 42]) {
    const [first, second] = [await simulate(seed), await simulate(seed)]
    expect(second.hash).toBe(first.hash)
  }
})
