import { expect, test } from 'vitest'
import { UPDATE_KINDS } from '../edge/simulator/updates/update-kinds.ts'
import { simulateRollouts } from './testing/simulate-rollouts.ts'

// Large rollouts are dear: one has 200 devices, the others twelve each, and all kinds of update together.
test('50 seeds: every small rollout ends as its devices demand, wherever processes die', {
  timeout: 1_800_000,
}, async () => {
  const kinds = await simulateRollouts({ from: 1, to: 50, devices: 12 })
  expect([...kinds].sort()).toEqual([...UPDATE_KINDS].sort())
})

test('one seed with 200 devices: all of them end as they demand', { timeout: 1_800_000 }, async () => {
  const kinds = await simulateRollouts({ from: 51, to: 51, devices: 200 })
  expect(kinds.size).toBe(UPDATE_KINDS.length)
})
