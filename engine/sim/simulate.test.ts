// Runs a few seeds for every change. many-seeds.integration.test.ts has more.
import { expect, test } from 'vitest'
import { simulate } from './simulate.ts'
import { simulateSeeds } from './testing/simulate-seeds.ts'

test('4 seeds: nothing acknowledged is lost, doubled, out of order or forgotten, and a seed always gives the same trace', {
  timeout: 600_000,
}, async () => {
  const { hashes } = await simulateSeeds({ from: 1, to: 4 })
  expect((await simulate(4)).hash).toBe(hashes[3])
})
