import { expect, test } from 'vitest'
import { Partition } from '../../../schemas/ids.ts'
import { Fault } from '../../ports/fault.ts'
import { NO_SAVE, type Save } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { deviceOf, START } from '../shard/testing/items.ts'
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
  const store = {
    async save(save: Save) {
      const fault = faults.shift()
      if (fault !== undefined) throw fault
      saved.push(save)
    },
  }
  const saver = new Saver(
    { store, schedule: time.newIncarnation().schedule, claims: CLAIMS },
    {
      signal: ({ fault }) => told.push(`failed ${fault.code}`),
      fatal: ({ code }) => told.push(`fatal ${code}`),
    },
  )
  return { time, faults, saved, told, saver }
}

test('a save that fails is tried until it succeeds', async () => {
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

test('a save carries what was applied without one, so that no past is applied to a later record', async () => {
  const { saved, saver } = setUp()
  saver.passed([position(0, 7), position(1, 3)])
  await saver.save(saveOf(position(1, 4)))
  await saver.save(saveOf())
  expect(saved.map(({ applied }) => applied)).toEqual([[position(0, 7), position(1, 4)], []])
  expect(saved.map(({ claims }) => claims)).toEqual([CLAIMS, CLAIMS])
})

test('a store that will not save any more ends the process, and is not asked again', async () => {
  const { faults, saved, told, saver } = setUp()
  faults.push(new Fault('STORE_UNAVAILABLE', { retryable: false }))
  expect(await saver.save(saveOf(position(0, 1)))).toBe(false)
  expect(await saver.save(saveOf(position(0, 1)))).toBe(false)
  expect([told, saved]).toEqual([['fatal STORE_UNAVAILABLE'], []])
})

test('a stop gives up what is not saved', async () => {
  const { time, faults, saved, saver } = setUp()
  for (let i = 0; i < 10; i++) faults.push(new Fault('STORE_UNAVAILABLE', { retryable: true }))
  const isSaved = saver.save(saveOf(position(0, 1)))
  await time.advance(600)
  saver.close()
  await time.advance(600)
  expect([await isSaved, saved]).toEqual([false, []])
})
