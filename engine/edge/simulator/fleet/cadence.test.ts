import { expect, test } from 'vitest'
import { builtIn } from '../scenario/built-in.ts'
import { Cadence } from './cadence.ts'
import { DeviceCohort } from './device-cohort.ts'

const INTERVAL_MS = 1_000
const NOW = 50_000
const [plan] = builtIn({ count: 50, seed: 1 }).types
if (plan === undefined) throw new Error('the scenario has no devices')
const cohort = new DeviceCohort(plan, 1)

/** Returns the times of the next reports if each one is sent when it is due. */
function reports(cadence: Cadence, count: number): readonly number[] {
  return Array.from({ length: count }, () => {
    const at = cadence.dueAt
    cadence.advance(at)
    return at
  })
}

test('a device reports when it connects, and then once per interval with a phase of its own', () => {
  const phases = new Set<number>()
  for (let index = 0; index < plan.count; index++) {
    const cadence = new Cadence(cohort, index)
    cadence.begin(NOW)
    const [first = 0, second = 0, third, fourth] = reports(cadence, 4)
    expect([first, third, fourth]).toEqual([NOW, second + INTERVAL_MS, second + 2 * INTERVAL_MS])
    expect(second >= NOW && second < NOW + INTERVAL_MS).toBe(true)
    phases.add(second)
  }
  expect(phases.size).toBe(plan.count)
})

test('a device behind a gateway starts at the common send time of its gateway', () => {
  const cadence = new Cadence(cohort, 0)
  cadence.begin(NOW, () => NOW + 700)
  expect(reports(cadence, 2)).toEqual([NOW + 700, NOW + 1_700])
})
