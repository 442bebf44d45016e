import { expect, test } from 'vitest'
import { UPDATE_KINDS } from '../edge/simulator/updates/update-kinds.ts'
import { simulateRollouts } from './testing/simulate-rollouts.ts'

// Large rollouts take long, so only one has 200 devices. The others have twelve each, and together all kinds of update.
test('50 seeds: every update of a small rollout ends as it must, wherever processes die', {
  timeout: 1_800_000,
}, async () => {
  const kinds = await simulateRollouts({ from: 1, to: 50, devices: 12 })
  expect([...kinds].sort()).toEqual([...UPDATE_KINDS].sort())
})

test('one seed with 200 devices: every update ends as it must', { timeout: 1_800_000 }, async () => {
  const kinds = await simulateRollouts({ from: 51, to: 51, devices: 200 })
  expect(kinds.size).toBe(UPDATE_KINDS.length)
})
