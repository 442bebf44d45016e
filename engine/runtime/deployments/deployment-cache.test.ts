import { expect, test } from 'vitest'
import { DeploymentId, type DeviceId, Millis } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { type Job, newJob } from '../../domain/ota/job.ts'
import { plan } from '../../domain/ota/testing/updated-device.ts'
import { partitionOf } from '../../domain/partition.ts'
import type { FeedEvent } from '../../ports/feed.ts'
import { SimTime } from '../../testing/time.ts'
import { idOf } from '../shard/testing/items.ts'
import { DeploymentCache } from './deployment-cache.ts'

const deploymentId = DeploymentId('dep_1')

function openCache() {
  const time = new SimTime(Millis(1_000_000))
  const listeners: ((events: readonly FeedEvent[]) => void)[] = []
  const cache = new DeploymentCache({
    documents: new MemoryStore({ partitionOf }).documents,
    schedule: time.newIncarnation().schedule,
    feed: {
      listen(listener) {
        listeners.push(listener)
        return () => {}
      },
    },
    clock: time,
    ...{ began: async () => {}, refused: async () => {}, sent: async () => {}, imageMissing: async () => {} },
    wayBackOf: async () => 0,
    abort: async () => {},
    failed: (error) => expect.fail(String(error)),
  })
  cache.open()
  const cancelled = (deviceId: DeviceId, more: Partial<Job>): FeedEvent => {
    const about = { createdAt: Millis(0), fromVersion: undefined, awaySince: undefined }
    const job: Job = { ...newJob(plan({ deploymentId }), about), status: 'cancelled', ...more }
    const event = 'deployment.device'
    return { kind: 'job', event, deviceId, at: Millis(1), previous: 'pending', job }
  }
  const tell = (events: readonly FeedEvent[]) => {
    for (const listener of listeners) listener(events)
  }
  return { cache, cancelled, tell }
}

test('a link stays withdrawn however many devices without a link are cancelled after it', () => {
  const { cache, cancelled, tell } = openCache()
  const sent = idOf('sent')
  tell([cancelled(sent, { attempt: 1 })])
  tell(Array.from({ length: 20_000 }, (_, n) => cancelled(idOf(`waiting-${n}`), {})))
  expect(cache.isWithdrawn({ deploymentId, deviceId: sent })).toBe(true)
})
