import { expect, test } from 'vitest'
import { type DeviceId, Partition } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { partitionOf } from '../../domain/partition.ts'
import { hoursWithin } from '../../domain/telemetry/late-hours.ts'
import { Fault } from '../../ports/fault.ts'
import { type LateHour, NO_SAVE, type Save } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { deviceOf, idOf, START } from '../shard/testing/items.ts'
import { Saver } from './saver.ts'

const position = (partition: number, seq: number) => ({ partition: Partition(partition), seq })
const saveOf = (...applied: Save['applied']): Save => ({
  ...NO_SAVE,
  applied,
  changed: [deviceOf('a')],
})

const CLAIMS = [{ partition: Partition(0), epoch: 3 }]

function setUp() {
  const time = new SimTime(START)
  const faults: Error[] = []
  const saved: Save[] = []
  const told: string[] = []
  const marks = new MemoryStore({ partitionOf })
  const store = {
    lateHours: () => marks.lateHours(),
    lateHoursOf: (id: DeviceId) => marks.lateHoursOf(id),
    clearLate: (late: readonly LateHour[]) => marks.clearLate(late),
    async save(save: Save) {
      const fault = faults.shift()
      if (fault !== undefined) throw fault
      saved.push(save)
      await marks.save({ ...NO_SAVE, late: save.late })
    },
  }
  const saver = new Saver(
    { store, schedule: time.newIncarnation().schedule, claims: CLAIMS },
    {
      signal: ({ fault }) => told.push(`failed ${fault.code}`),
      fatal: ({ code }) => told.push(`fatal ${code}`),
    },
  )
  return { time, faults, saved, told, saver, store }
}

test('a failed save is retried until it succeeds', async () => {
  const { time, faults, saved, told, saver } = setUp()
  faults.push(new Fault('STORE_UNAVAILABLE', { retryable: true }), new Error('anything'))
  const isSaved = saver.save(saveOf(position(0, 1)))
  await time.advance(400)
  expect(saved).toEqual([])
  await time.advance(200)
  expect([await isSaved, saved.length, told]).toEqual([
    true,
    1,
    ['failed STORE_UNAVAILABLE', 'failed STORE_UNAVAILABLE'],
  ])
})

test('years of old points leave few marks of late hours, which cover every hour', async () => {
  const { saver, store } = setUp()
  const hourOf = (n: number) => n * 3_600
  const late = (id: string, ...hours: readonly number[]): Save => ({
    ...saveOf(),
    late: hours.map((n) => ({ deviceId: idOf(id), hour: hourOf(n) })),
  })
  await saver.save(late('b', 5, 7))
  // A thousand reports in each of many messages, in random order.
  const hours = Array.from({ length: 20_000 }, (_, n) => 10 + ((n * 7_919) % 200_000))
  for (let at = 0; at < hours.length; at += 1_000) await saver.save(late('a', ...hours.slice(at, at + 1_000)))
  expect(store.lateHoursOf(idOf('b'))).toEqual(late('b', 5, 7).late)
  const marks = store.lateHoursOf(idOf('a'))
  expect(marks.length).toBeLessThanOrEqual(16)
  expect(store.lateHours()).toHaveLength(marks.length + 2)
  const covered = new Set(hoursWithin(marks, { from: 0, to: Number.MAX_SAFE_INTEGER }))
  expect(hours.filter((n) => !covered.has(hourOf(n)))).toEqual([])
})

test('a save carries the positions of batches that were not saved, so that they are not applied again', async () => {
  const { saved, saver } = setUp()
  saver.passed([position(0, 7), position(1, 3)])
  await saver.save(saveOf(position(1, 4)))
  await saver.save(saveOf())
  expect(saved.map(({ applied }) => applied)).toEqual([[position(0, 7), position(1, 4)], []])
  expect(saved.map(({ claims }) => claims)).toEqual([CLAIMS, CLAIMS])
})

test('a store that will never save again ends the process and is not asked again', async () => {
  const { faults, saved, told, saver } = setUp()
  faults.push(new Fault('STORE_UNAVAILABLE', { retryable: false }))
  expect(await saver.save(saveOf(position(0, 1)))).toBe(false)
  expect(await saver.save(saveOf(position(0, 1)))).toBe(false)
  expect([told, saved]).toEqual([['fatal STORE_UNAVAILABLE'], []])
})

test('closing gives up what is not saved', async () => {
  const { time, faults, saved, saver } = setUp()
  for (let i = 0; i < 10; i++) faults.push(new Fault('STORE_UNAVAILABLE', { retryable: true }))
  const isSaved = saver.save(saveOf(position(0, 1)))
  await time.advance(600)
  saver.close()
  await time.advance(600)
  expect([await isSaved, saved]).toEqual([false, []])
})
