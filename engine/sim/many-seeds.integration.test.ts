import { expect, test } from 'vitest'
import { BATCH_STEPS } from './faults.ts'
import { simulateSeeds } from './testing/simulate-seeds.ts'

// The first ten are those of simulate.test.ts.
test('110 more seeds: nothing acknowledged is lost, doubled, out of order or forgotten, wherever processes die', {
  timeout: 1_800_000,
}, async () => {
  const { died } = await simulateSeeds({ from: 11, to: 120 })
  // Processes died between any two steps of a batch (R4).
  expect([...died]).toEqual(expect.arrayContaining([...BATCH_STEPS]))
})
