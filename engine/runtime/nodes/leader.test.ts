import { expect, test } from 'vitest'
import { StandingTime } from '../../testing/standing-time.ts'
import type { Shards } from '../shards.ts'
import { Leader } from './leader.ts'
import type { LeaderServices } from './leader-services.ts'

test('a service that has read its records only when its term is over is closed: it begins nothing more', async () => {
  const time = new StandingTime(0)
  let read = () => {}
  let rounds = 0
  let stop = () => {}
  const service = {
    async open() {
      await new Promise<void>((resolve) => {
        read = resolve
      })
      stop = time.every(1_000, () => rounds++)
    },
    close: () => stop(),
  }
  const leader = new Leader({
    // Ownership is not in question here.
    shards: { assigned: async () => {}, owns: () => true, claimsOf: () => [] } as unknown as Shards,
    createServices: () => ({ purges: service }) as unknown as LeaderServices,
    schedule: time,
    failed: (error) => expect.unreachable(String(error)),
  })
  await leader.begin()
  leader.end()
  read()
  await new Promise(setImmediate)
  time.at += 1_000
  expect([rounds, time.waiting]).toEqual([0, 0])
})
