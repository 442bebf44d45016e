import { expect, test } from 'vitest'
import { UPDATE_KINDS } from '../edge/simulator/update-kinds.ts'
import { simulateRollouts } from './testing/simulate-rollouts.ts'

// Whole rollouts, with every kind of update at once, are dear: these have six devices each, and all kinds together.
test('50 seeds: every small rollout ends as its devices demand, wherever processes die', {
  timeout: 1_800_000,
}, async () => {
  const kinds = await simulateRollouts({ from: 1, to: 50, devices: 6 })
  expect([...kinds].sort()).toEqual([...UPDATE_KINDS].sort())
})
