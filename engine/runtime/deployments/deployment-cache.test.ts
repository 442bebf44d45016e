import { expect, test } from 'vitest'
import { DeploymentId, type DeviceId, Millis } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { NO_FIRMWARE } from '../../domain/ota/firmware-part.ts'
import { type Job, newJob } from '../../domain/ota/job.ts'
import type { FirmwareState } from '../../domain/ota/tally.ts'
import { plan } from '../../domain/ota/testing/updated-device.ts'
import { partitionOf } from '../../domain/partition.ts'
import type { FeedEvent } from '../../ports/feed.ts'
import { SimTime } from '../../testing/time.ts'
import { idOf } from '../shard/testing/items.ts'
import { DeploymentCache, type DeploymentCachePorts } from './deployment-cache.ts'

const deploymentId = DeploymentId('dep_1')

function openCache(firmwareOf: DeploymentCachePorts['firmwareOf'] = async () => []) {
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
    firmwareOf,
    wayBackOf: async () => 0,
    abort: async () => {},
    failed: (error) => expect.fail(String(error)),
  })
  cache.open()
  const cancelled = (deviceId: DeviceId, more: Partial<Job>): FeedEvent => {
    const event = 'deployment.device'
    return { kind: 'job', event, deviceId, at: Millis(1), previous: 'pending', job: cancelledJob(more) }
  }
  const tell = (events: readonly FeedEvent[]) => {
    for (const listener of listeners) listener(events)
  }
  return { cache, cancelled, tell, time }
}

function stateOf(deviceId: DeviceId, jobs: readonly Job[]): FirmwareState {
  const known = { firmwareVersion: undefined, parentId: undefined, isConnected: true, takesOta: true }
  return { ...known, deviceId, status: 'online', firmware: { ...NO_FIRMWARE, jobs }, unmet: [], alertsAt: {} }
}

function cancelledJob(more: Partial<Job>): Job {
  const about = { createdAt: Millis(0), fromVersion: undefined, awaySince: undefined }
  return { ...newJob(plan({ deploymentId }), about), status: 'cancelled', ...more }
}

test('a link stays withdrawn however many devices without a link are cancelled after it', () => {
  const { cache, cancelled, tell } = openCache()
  const sent = idOf('sent')
  tell([cancelled(sent, { attempt: 1 })])
  tell(Array.from({ length: 20_000 }, (_, n) => cancelled(idOf(`waiting-${n}`), {})))
  expect(cache.isWithdrawn({ deploymentId, deviceId: sent })).toBe(true)
})

test('a link is withdrawn whose job was cancelled before this node started, and its owner is asked once', async () => {
  const asked: DeviceId[] = []
  const { cache } = openCache(async (ids) => {
    asked.push(...ids)
    return ids.map((deviceId) => stateOf(deviceId, [cancelledJob({ attempt: 1 })]))
  })
  const job = { deploymentId, deviceId: idOf('a') }
  await Promise.all([cache.untilKnown(job), cache.untilKnown(job)])
  expect([cache.isWithdrawn(job), asked]).toEqual([true, ['a']])
})

test('a link works while the owner of its device does not answer, and is withdrawn once it does', async () => {
  const answers: ((states: readonly (FirmwareState | undefined)[]) => void)[] = []
  const { cache, time } = openCache(() => new Promise((resolve) => answers.push(resolve)))
  const job = { deploymentId, deviceId: idOf('a') }
  const known = cache.untilKnown(job)
  await time.advance(1_000)
  await known
  expect(cache.isWithdrawn(job)).toBe(false)
  answers[0]?.([stateOf(job.deviceId, [cancelledJob({ attempt: 1 })])])
  await time.advance(0)
  expect(cache.isWithdrawn(job)).toBe(true)
})
