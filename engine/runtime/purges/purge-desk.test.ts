import { expect, test } from 'vitest'
import { type DeviceId, Micros, Millis } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import type { DeviceRequest } from '../../domain/device/events.ts'
import { partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import type { DeviceView } from '../../ports/device-view.ts'
import type { RequestOutcome } from '../../ports/engine.ts'
import { Fault } from '../../ports/fault.ts'
import { NO_SAVE } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { deviceOf, idOf, START } from '../shard/testing/items.ts'
import { PurgeDesk } from './purge-desk.ts'

const a = idOf('a')
const purge = { deviceId: a, createdAt: START, signed: { by: { kind: 'user', id: 'usr_1' } } } as const
const DONE: RequestOutcome = { kind: 'done', view: viewOf(START) }

test('a purge ends only after the broker has freed the id, even if an earlier process removed the record', async () => {
  const store = new MemoryStore({ partitionOf })
  const time = new SimTime(START)
  const devices = new Set([a])
  const freed: string[] = []
  const begin = (free: (deviceId: string) => Promise<void>) => {
    const { schedule, end } = time.newIncarnation()
    const desk = new PurgeDesk({
      store,
      claims: [],
      telemetry: { forget: async () => {} },
      clock: time,
      schedule,
      submit: async (deviceId, { kind }) => {
        if (!devices.has(deviceId)) return { kind: 'refused', code: 'NOT_FOUND', detail: {} }
        if (kind === 'purge') devices.delete(deviceId)
        return DONE
      },
      flush: async () => {},
      broker: { free },
      gone: () => {},
      failed: (error) => expect.unreachable(String(error)),
    })
    return { desk, end }
  }
  const left = async () => (await store.documents.list('purges')).length

  const first = begin(() => new Promise<never>(() => {}))
  await first.desk.open()
  const answer = first.desk.purge(purge)
  await time.advance(LIMITS.purgeWaitMs + LIMITS.purgeEveryMs)
  expect([await answer, devices.size, await left()]).toMatchObject([{ kind: 'done', isOver: false }, 0, 1])
  first.desk.close()
  first.end()

  const second = begin(async (deviceId) => void freed.push(deviceId))
  await second.desk.open()
  await time.advance(2 * LIMITS.purgeEveryMs)
  expect([freed, await left()]).toEqual([['a'], 0])
})

test('purges of one round run at the same time, and one that fails does not delay the others', async () => {
  const store = new MemoryStore({ partitionOf })
  const time = new SimTime(START)
  const { schedule, end } = time.newIncarnation()
  const ids = ['a', 'b', 'c'].map(idOf)
  const devices = new Set(ids)
  let underWay = 0
  let most = 0
  const desk = new PurgeDesk({
    ...{ store, claims: [], clock: time, schedule },
    telemetry: { forget: async () => {} },
    submit: async (deviceId, { kind }) => {
      if (!devices.has(deviceId)) return { kind: 'refused', code: 'NOT_FOUND', detail: {} }
      underWay++
      most = Math.max(most, underWay)
      await schedule.sleep(10)
      underWay--
      if (kind === 'purge') devices.delete(deviceId)
      return DONE
    },
    flush: async () => {},
    gone: () => {},
    broker: {
      free: async (deviceId) => {
        if (deviceId === a) throw new Fault('BROKER_UNAVAILABLE', { retryable: true })
      },
    },
    failed: (error) => expect.unreachable(String(error)),
  })
  await desk.open()
  const answers = ids.map((deviceId) => desk.purge({ ...purge, deviceId }))
  await time.advance(LIMITS.purgeWaitMs + LIMITS.purgeEveryMs)
  expect(await Promise.all(answers)).toMatchObject([{ isOver: false }, { isOver: true }, { isOver: true }])
  expect([most, devices.size]).toEqual([3, 0])
  desk.close()
  end()
})

/** A desk on these devices, whose requests take effect at the log's time. */
function openDesk(devices: Set<DeviceId>, more: Partial<ConstructorParameters<typeof PurgeDesk>[0]> = {}) {
  const store = new MemoryStore({ partitionOf })
  const time = new SimTime(START)
  const { schedule, end } = time.newIncarnation()
  const desk = new PurgeDesk({
    ...{ store, claims: [], clock: time, schedule },
    telemetry: { forget: async () => {} },
    submit: async (deviceId, { kind }) => {
      if (!devices.has(deviceId)) return { kind: 'refused', code: 'NOT_FOUND', detail: {} }
      if (kind === 'purge') devices.delete(deviceId)
      return DONE
    },
    flush: async () => {},
    broker: { free: async () => {} },
    gone: () => {},
    failed: (error) => expect.unreachable(String(error)),
    ...more,
  })
  return { desk, store, time, end }
}

test('rows of the device are gone from the outbox before they are deleted, whatever the clocks say', async () => {
  const devices = new Set([a])
  // The owner's clock, by which the log goes, is ahead of the leader's.
  const statusSince = Millis(START + 60_000)
  const outbox: (readonly string[])[] = []
  const { desk, store, time, end } = openDesk(devices, {
    submit: async (_, { kind }) => {
      if (kind === 'purge') devices.delete(a)
      return { kind: 'done', view: viewOf(statusSince) }
    },
    telemetry: { forget: async () => void outbox.push((await stored()).map(({ key }) => key)) },
  })
  const stored = () => store.outbox({ rowsMax: 10, bytesMax: 1_000_000 })
  const row = {
    deviceId: a,
    kind: 'status',
    at: Micros(statusSince * 1_000 + 7),
    version: 1,
    body: '{}',
  } as const
  await store.save({ ...NO_SAVE, history: [row] })
  await desk.open()
  const answer = desk.purge(purge)
  await time.advance(LIMITS.purgeWaitMs + LIMITS.purgeEveryMs)
  expect([await answer, outbox]).toMatchObject([{ isOver: false }, []])
  await store.clearHistory((await stored()).map(({ key }) => key))
  await time.advance(2 * LIMITS.purgeEveryMs)
  expect([outbox, devices.size]).toEqual([[[]], 0])
  desk.close()
  end()
})

test('a purge whose first step was not answered is carried out, not only by the next leader', async () => {
  const devices = new Set([a])
  const gone: DeviceId[] = []
  let faults = 1
  const { desk, store, time, end } = openDesk(devices, {
    submit: async (_, { kind }) => {
      if (faults-- > 0) throw new Fault('NODE_UNREACHABLE', { retryable: true })
      if (kind === 'purge') devices.delete(a)
      return DONE
    },
    gone: (id) => gone.push(id),
  })
  await desk.open()
  await expect(desk.purge(purge)).rejects.toMatchObject({ code: 'NODE_UNREACHABLE' })
  await time.advance(2 * LIMITS.purgeEveryMs)
  expect([devices.size, (await store.documents.list('purges')).length, gone]).toEqual([0, 0, [a]])
  desk.close()
  end()
})

test('a purge whose first step was not answered keeps its condition, so a device that was edited since stays', async () => {
  const devices = new Set([a])
  const asked: DeviceRequest[] = []
  const freed: DeviceId[] = []
  let faults = 1
  const { desk, store, time, end } = openDesk(devices, {
    submit: async (_, request) => {
      asked.push(request)
      if (faults-- > 0) throw new Fault('NODE_UNREACHABLE', { retryable: true })
      return { kind: 'refused', code: 'PRECONDITION_FAILED', detail: { expected: 2, got: 1 } }
    },
    broker: { free: async (id) => void freed.push(id) },
  })
  await desk.open()
  await expect(desk.purge({ ...purge, ifRevision: 1 })).rejects.toMatchObject({ code: 'NODE_UNREACHABLE' })
  await time.advance(3 * LIMITS.purgeEveryMs)
  const decommission = { kind: 'decommission', reason: 'purged', createdAt: START, ifRevision: 1 }
  expect(asked).toEqual([decommission, decommission])
  expect([await store.documents.list('purges'), freed]).toEqual([[], []])
  desk.close()
  end()
})

test('a purge of a device that took the id meanwhile is carried out, too', async () => {
  const devices = new Map<DeviceId, Millis>([[a, START]])
  let free = () => {}
  const freed = new Promise<void>((resolve) => {
    free = resolve
  })
  const { desk, store, time, end } = openDesk(new Set(), {
    submit: async (deviceId, request) => {
      const createdAt = 'createdAt' in request ? request.createdAt : undefined
      if (devices.get(deviceId) !== createdAt) return { kind: 'refused', code: 'NOT_FOUND', detail: {} }
      if (request.kind === 'purge') devices.delete(deviceId)
      return DONE
    },
    broker: { free: () => freed },
  })
  await desk.open()
  void desk.purge(purge)
  await time.advance(LIMITS.purgeEveryMs)
  expect(devices.size).toBe(0)
  // The broker has not freed the id yet, but it may be registered.
  const createdAt = Millis(START + 1)
  devices.set(a, createdAt)
  const answer = desk.purge({ ...purge, createdAt })
  await time.advance(1)
  free()
  await time.advance(LIMITS.purgeWaitMs)
  expect([await answer, devices.size, await store.documents.list('purges')]).toMatchObject([
    { isOver: true },
    0,
    [],
  ])
  desk.close()
  end()
})

/** The device as far as a purge looks at it. */
function viewOf(statusSince: Millis): DeviceView {
  return { device: { ...deviceOf('a'), statusSince } } as unknown as DeviceView
}
