import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Micros, Partition } from '../../../../schemas/ids.ts'
import { DEVICE_STATUSES } from '../../../../schemas/vocabulary.ts'
import { newPackr } from '../../../domain/packing.ts'
import { LIMITS } from '../../../limits.ts'
import { type Directory, NO_SAVE, type Store } from '../../../ports/store.ts'
import type { RedisLink } from '../../redis/redis-link.ts'
import { packLists } from '../../redis/redis-lists.ts'
import { REDIS_SERVER, RedisServer, until } from '../../redis/testing/redis-server.ts'
import type { OutboxBounds } from '../outbox.ts'
import {
  DeviceIdOf,
  device,
  partitionOf,
  type StoreContract,
  save,
  storeContract,
} from '../testing/contract.ts'
import { anyDevice, anyFilter, anyPage } from '../testing/device-arbitraries.ts'
import { documentsContract } from '../testing/documents-contract.ts'
import { MemoryStore } from '../testing/memory.ts'
import { outboxContract } from '../testing/outbox-contract.ts'
import { writersContract } from '../testing/writers-contract.ts'
import { openRedisStore } from './redis.ts'

describe.skipIf(REDIS_SERVER === undefined)('with a redis-server (needs one in the PATH)', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())

  interface OpenedStore {
    readonly link: RedisLink
    readonly prefix: string
    readonly outbox: OutboxBounds | undefined
  }
  const opened = new Map<Store, OpenedStore>()
  let count = 0

  async function open(prefix = `p${count++}`, outbox?: OutboxBounds, node = 'one'): Promise<Store> {
    const link = await server.link({ prefix, node })
    const store = await openRedisStore(link, { partitionOf, outbox })
    opened.set(store, { link, prefix, outbox })
    return store
  }

  const CONTRACT: StoreContract = {
    name: 'redis',
    open: async (outbox) => open(undefined, outbox),
    restart: async (store) => {
      const { link, prefix, outbox } = opened.get(store) ?? {}
      link?.close()
      await store.close()
      return open(prefix, outbox)
    },
  }
  storeContract(CONTRACT)
  outboxContract(CONTRACT)
  writersContract(CONTRACT)
  documentsContract(CONTRACT)

  describe('two processes', () => {
    async function openTwo() {
      const prefix = `p${count++}`
      const [one, other] = [await open(prefix), await open(prefix, undefined, 'other')]
      const close = () => Promise.all([one.close(), other.close()])
      return { prefix, one, other, close }
    }
    const claim = (epoch: number) => [{ partition: Partition(1), epoch }]

    test('have numbers of their own', async () => {
      const { one, other, close } = await openTwo()
      expect(one.writer).not.toBe(other.writer)
      await close()
    })

    test('see what either writes, and each at once what it wrote itself', async () => {
      const { one, other, close } = await openTwo()
      await one.save(
        save([device('d1', { status: 'online' })], { applied: [{ partition: Partition(1), seq: 3 }] }),
      )
      expect(one.devices.countByStatus().online).toBe(1)
      await until(() => other.devices.get(DeviceIdOf('d1')) !== undefined, 'the other one to hear of it')
      expect([other.devices.countByStatus().online, other.applied()[1], other.isUp()]).toEqual([1, 3, true])
      const hours = [{ deviceId: DeviceIdOf('d1'), hour: 3600 }]
      await other.save(save([], { late: hours }))
      await other.putFact('name', 'a')
      await until(() => one.getFact('name') === 'a', 'the fact')
      expect(one.lateHours()).toEqual(hours)
      await one.clearLate(hours)
      await until(() => other.lateHours().length === 0, 'the hour to be settled')
      await close()
    })

    test('wait for what another is about to save', async () => {
      const { one, other, close } = await openTwo()
      const saved = device('d1', { name: 'new', revision: 2 })
      await one.save(save([device('d1', { name: 'old', revision: 1 })]))
      const seen = other.devices.untilSeen(saved).then(() => other.devices.get(saved.id)?.name)
      await one.save(save([saved]))
      expect(await seen).toBe('new')
      await close()
    })

    test('are up to date once those who hear of a written document have read it', async () => {
      const { one, other, close } = await openTwo()
      let readIt: (() => void) | undefined
      other.documents.onWritten(
        () =>
          new Promise((resolve) => {
            readIt = resolve
          }),
      )
      await one.save(save([], { documents: [{ collection: 'rules', id: 'a', bytes: Uint8Array.of(1) }] }))
      await until(() => readIt !== undefined, 'the other one to hear of it')
      let isFresh = false
      const freshened = other.devices.freshen()?.then(() => {
        isFresh = true
      })
      await other.devices.catchUp()
      expect([freshened === undefined, isFresh]).toEqual([false, false])
      readIt?.()
      await freshened
      expect(other.devices.freshen()).toBeUndefined()
      await close()
    })

    test('hand a partition over: the new owner finds all of the old one, who can write no more', async () => {
      const { one, other, close } = await openTwo()
      await one.claim(claim(5))
      const saves = Array.from({ length: 200 }, (_, i) =>
        one.save(
          save([device(`d${i * LIMITS.partitions + 1}`)], {
            claims: claim(5),
            applied: [{ partition: Partition(1), seq: i + 1 }],
          }),
        ),
      )
      await Promise.all([...saves.slice(0, 100)])
      const [taken, ...rest] = await Promise.allSettled([other.claim(claim(6)), ...saves.slice(100)])
      expect(taken.status).toBe('fulfilled')
      const [seq = 0, found] = [other.applied()[1], other.devices.list({}, { offset: 0, limit: 1 }).total]
      expect(found).toBe(seq)
      expect(seq).toBeGreaterThanOrEqual(100 + rest.filter(({ status }) => status === 'fulfilled').length)
      await expect(one.save(save([device('d1')], { claims: claim(5) }))).rejects.toMatchObject({
        code: 'STORE_FENCED',
        retryable: false,
      })
      await expect(one.checkpoint({ claims: claim(5), inserted: [], vitals: [] })).rejects.toMatchObject({
        code: 'STORE_FENCED',
      })
      expect(other.devices.list({}, { offset: 0, limit: 1 }).total).toBe(found)
      await close()
    })

    test('do not both empty the outbox', async () => {
      const { one, other, close } = await openTwo()
      const row = { deviceId: DeviceIdOf('d1'), kind: 'shadow', version: 1, body: '{}' } as const
      await one.save(save([], { history: [{ ...row, at: Micros(1) }] }))
      const bounds = { rowsMax: 10, bytesMax: 1_000 }
      const [batch] = await one.outbox(bounds)
      expect([batch?.rows.length, await other.outbox(bounds)]).toEqual([1, []])
      await until(() => other.outboxCounts().rows === 1, 'the count')
      await one.clearHistory([batch?.key ?? ''])
      await until(() => other.outboxCounts().rows === 0, 'the count')
      await close()
    })

    test('one that missed messages that are gone by now loads everything again', async () => {
      const { prefix, one, other, close } = await openTwo()
      await one.save(save([device('d1')]))
      await until(() => other.devices.get(DeviceIdOf('d1')) !== undefined, 'the other one to hear of it')
      // As if a message had come and been trimmed while nobody was listening.
      await server.run((redis) => {
        const key = `{${prefix}}:store`
        return redis
          .multi()
          .hset(`{${prefix}}:devices`, 'd2', newPackr().pack(device('d2')))
          .incrby(`${key}:seq`, 2)
          .xadd(key, '3-1', 'told', packLists([[], [], [], [], [], [], [], []]), 'rows', '0', 'dropped', '0')
          .xtrim(key, 'MAXLEN', 1)
          .exec()
      })
      const d2 = DeviceIdOf('d2')
      await until(
        () => [one, other].every((store) => store.devices.get(d2) !== undefined && store.isUp()),
        'both to have loaded',
      )
      await other.save(save([device('d3')]))
      await until(() => one.devices.list({}, { offset: 0, limit: 1 }).total === 3, 'the next message')
      await close()
    })

    test('list what a store in memory lists, whatever was saved by whom', async () => {
      const step = fc.record({
        put: fc.array(anyDevice, { maxLength: 12 }),
        isByOther: fc.boolean(),
        filter: anyFilter,
        page: anyPage,
      })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 5 }), async (steps) => {
          const { prefix, one, other, close } = await openTwo()
          const memory = new MemoryStore({ partitionOf })
          const same = async (
            filter: Parameters<Directory['list']>[0],
            page: Parameters<Directory['list']>[1],
          ) => {
            // Each has taken what the other wrote once it has written itself.
            await Promise.all([one.save(NO_SAVE), other.save(NO_SAVE)])
            const late = await open(prefix, undefined, 'late')
            for (const store of [one, other, late]) {
              expect(store.devices.list(filter, page)).toEqual(memory.devices.list(filter, page))
              expect(store.devices.matching(filter)).toEqual(memory.devices.matching(filter))
              expect(store.devices.countByStatus()).toEqual(memory.devices.countByStatus())
            }
            await late.close()
          }
          for (const { put, isByOther, filter, page } of steps) {
            await Promise.all([memory, isByOther ? other : one].map((store) => store.save(save(put))))
            await same(filter, page)
          }
          for (const status of DEVICE_STATUSES) await same({ status }, { offset: 0, limit: 100 })
          await close()
        }),
        { numRuns: 25 },
      )
    })
  })
})
