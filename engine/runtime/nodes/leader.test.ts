// A node that becomes the leader, and stops being it.
import { expect, test } from 'vitest'
import { SimTime } from '../../testing/time.ts'
import { START } from '../shard/testing/items.ts'
import type { Shards } from '../shards.ts'
import { Leader } from './leader.ts'
import type { LeaderService, LeaderServices } from './leader-services.ts'

test('a service that opens when the node no longer leads is closed again', async () => {
  const { schedule } = new SimTime(START).newIncarnation()
  let read = () => {}
  let isRunning = false
  const service: LeaderService = {
    open: async () => {
      await new Promise<void>((resolve) => {
        read = resolve
      })
      isRunning = true
    },
    close: () => {
      isRunning = false
    },
  }
  const shards: Partial<Shards> = { assigned: async () => {}, owns: () => true, claimsOf: () => [] }
  const leader = new Leader({
    // It needs nothing else of them.
    shards: shards as Shards,
    createServices: () => ({ purges: service }) as unknown as LeaderServices,
    schedule,
    failed: (error) => expect.unreachable(String(error)),
  })
  await leader.begin()
  leader.end()
  read()
  await new Promise((resolve) => setImmediate(resolve))
  expect(isRunning).toBe(false)
})
