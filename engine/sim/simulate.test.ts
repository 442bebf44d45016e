// A few seeds for every change; many-seeds.integration.test.ts has more.
import { expect, test } from 'vitest'
import { simulate } from './simulate.ts'
import { simulateSeeds } from './testing/simulate-seeds.ts'

test('20 seeds: nothing acknowledged is lost, doubled, out of order or forgotten', { timeout: 600_000 }, () =>
  simulateSeeds({ from: 1, to: 20 }),
)

test('a seed gives the same trace twice, byte for byte', { timeout: 600_000 }, async () => {
  for (const seed of [3, 17]) {
    const [first, second] = [await simulate(seed), await simulate(seed)]
    expect(second.hash).toBe(first.hash)
  }
})
