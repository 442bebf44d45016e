// A few seeds for every change; `npm run sim -- --rollout` tries many.
import { test } from 'vitest'
import { simulateRollouts } from './testing/simulate-rollouts.ts'

test('2 seeds: every device of a rollout ends as its behaviour demands, and places are never exceeded', {
  timeout: 600_000,
}, async () => {
  await simulateRollouts({ from: 3, to: 4 })
})

test('a clock that is set by an hour ends no job before its time, and lets none wait for it', {
  timeout: 600_000,
}, async () => {
  await simulateRollouts({ from: 15, to: 15, devices: 12 })
})
