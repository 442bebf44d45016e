import { expect, test } from 'vitest'
import { Millis, Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { StoredDevice } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { deviceOf, idOf } from '../shard/testing/items.ts'
import { PartitionLoader } from './partition-loader.ts'

const GAINED = [Partition(3), Partition(7)]
const PIECES = [['a', 'b'], ['c']].map((ids) => ids.map(stored))

function stored(id: string): StoredDevice {
  return { device: deviceOf(id), vitals: undefined, parts: {}, commands: [] }
}

/** Loads gained partitions from a store that fails each time after this many pieces. */
async function loadWhile(failures: readonly { readonly behind: number; readonly fault: Fault }[]) {
  const time = new SimTime(Millis(1_000))
  const left = [...failures]
  const seen = { put: [] as string[], failed: 0, loaded: 0, isReady: false }
  const store = {
    async *load() {
      const failure = left.shift()
      yield* PIECES.slice(0, failure?.behind)
      if (failure !== undefined) throw failure.fault
    },
  }
  const loader = new PartitionLoader(
    { store, schedule: time.newIncarnation().schedule },
    {
      ready: () => {
        seen.isReady = true
      },
      load: async (_, devices) => seen.put.push(...devices.map(({ device }) => device.id)),
      loaded: () => seen.loaded++,
      failed: () => seen.failed++,
    },
  )
  loader.add(GAINED)
  for (let i = 0; i < 20; i++) {
    await time.advance(LIMITS.shardRetryMs)
    await loader.step()
  }
  return { ...seen, isUnderWay: loader.isUnderWay }
}

const away = new Fault('STORE_UNAVAILABLE', { retryable: true })
const ALL = ['a', 'b', 'c'].map((id) => idOf(id))

test('each device is loaded once, however often the store fails in between', async () => {
  const failures = [
    { behind: 0, fault: away },
    { behind: 1, fault: away },
    { behind: 1, fault: away },
  ]
  const seen = await loadWhile(failures)
  expect(seen).toMatchObject({ put: ALL, failed: 3, loaded: 1, isUnderWay: false })
})

test('a record that cannot be read fails the step, so that the shard is opened again', async () => {
  const unreadable = new Fault('STORE_UNAVAILABLE', { retryable: false })
  await expect(loadWhile([{ behind: 1, fault: unreadable }])).rejects.toBe(unreadable)
})
