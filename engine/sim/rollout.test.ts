// Runs a few seeds for every change. `npm run sim -- --rollout` tries many.
import { test } from 'vitest'
import { simulateRollouts } from './testing/simulate-rollouts.ts'

test('2 seeds: every update ends as it must, and never too many devices update at a time', {
  timeout: 600_000,
}, async () => {
  await simulateRollouts({ from: 3, to: 4 })
})

test('setting the clock by an hour ends no job too early and makes none wait', {
  timeout: 600_000,
}, async () => {
  await simulateRollouts({ from: 15, to: 15, devices: 12 })
})
