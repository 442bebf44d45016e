import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { SimTime } from '../../testing/time.ts'
import { LiveFleet } from './live-fleet.ts'

test('a listener that throws is reported and does not keep the table from the others', async () => {
  const time = new SimTime(Millis(1_000))
  const failures: unknown[] = []
  const fleet = new LiveFleet({
    ...{ clock: time, schedule: time.newIncarnation().schedule, id: () => 'table' },
    ask: async () => [],
    latest: async () => [],
    deploymentsActive: () => 0,
    failed: (error) => failures.push(error),
  })
  const bug = new Error('bug')
  fleet.watch(() => {
    throw bug
  })
  let told = 0
  fleet.watch(() => told++)
  await time.advance(3 * LIMITS.fleetPullEveryMs)
  expect(told).toBe(3)
  expect(failures).toEqual([bug, bug, bug])
  fleet.close()
})
