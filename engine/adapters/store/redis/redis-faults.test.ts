// What the store does when Redis fails: nothing acknowledged is lost, nothing is done twice, and it goes on.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Micros, Partition } from '../../../../schemas/ids.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Save, Store } from '../../../ports/store.ts'
import { packLists } from '../../redis/redis-lists.ts'
import { PATIENT_MS, REDIS_SERVER, RedisServer, until } from '../../redis/testing/redis-server.ts'
import { CutProxy } from '../../testing/proxy.ts'
import { openRedisUsers } from '../../users/redis.ts'
import { DeviceIdOf, device, letter, partitionOf, save } from '../testing/contract.ts'
import { openRedisStore } from './redis.ts'
import { WRITE } from './redis-scripts.ts'

describe.skipIf(REDIS_SERVER === undefined)('with a redis-server (needs one in the PATH)', () => {
  /** A time that Redis is silent for in tests: what is to succeed may run into it on a busy machine, and is tried again. */
  const SHORT_TIMEOUT_MS = 400
  const RETRY_MS = 20
  const RETRYABLE = { code: 'STORE_UNAVAILABLE', retryable: true }

  let server: RedisServer
  const stores: Store[] = []
  beforeEach(async () => {
    server = await RedisServer.start()
  })
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()))
    await server.stop()
  })

  async function open(node?: string, timeoutMs = PATIENT_MS): Promise<Store> {
    const link = await server.link({ timeoutMs, ...(node === undefined ? {} : { node }) })
    const store = await openRedisStore(link, { partitionOf })
    stores.push(store)
    return store
  }

  /** Saves again until it succeeds, as the engine does. */
  const saveSurely = (store: Store, what: Save) => surely(() => store.save(what))

  async function surely<T>(attempt: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof Fault && error.retryable)) throw error
        await sleep(RETRY_MS)
      }
    }
  }

  /** The nth save of a device: its record, a dead letter, a row of history and a position. */
  function nth(partition: number, n: number): Save {
    const id = `d${partition}`
    const at = Micros(1_760_000_000_000_000 + n * 100 + partition)
    return save([device(id, { revision: n, name: `n${n}` })], {
      applied: [{ partition: Partition(partition), seq: n }],
      deadLetters: [letter(`dl_${partition}_${n}`, id)],
      history: [{ deviceId: DeviceIdOf(id), kind: 'shadow', at, version: n, body: '{}' }],
    })
  }

  async function rowsOf(store: Store): Promise<readonly string[]> {
    const batches = await store.outbox({ rowsMax: 100_000, bytesMax: 2 ** 30 })
    return batches.flatMap(({ rows }) => rows.map(({ deviceId, version }) => `${deviceId}/${version}`))
  }

  test('killed or stopped and started again while shards save: all is there, and once', async () => {
    const store = await open('one')
    const reached = new Map<number, number>()
    let isOver = false
    const shards = [1, 2, 3, 4].map(async (partition) => {
      for (let n = 1; !isOver; n++) {
        await saveSurely(store, nth(partition, n))
        reached.set(partition, n)
      }
    })
    const least = () => Math.min(...[1, 2, 3, 4].map((partition) => reached.get(partition) ?? 0))
    for (let kill = 0; kill < 4; kill++) {
      const before = least()
      await until(() => least() > before + 20, 'more saves')
      await (kill % 2 === 0 ? server.kill() : server.terminate())
      await server.start()
    }
    isOver = true
    await Promise.all(shards)
    for (const isAgain of [false, true]) {
      const one = isAgain ? await open('one') : store
      const expected = [...reached].flatMap(([p, last]) =>
        Array.from({ length: last }, (_, i) => `d${p}/${i + 1}`),
      )
      expect(await rowsOf(one)).toHaveLength(expected.length)
      expect(new Set(await rowsOf(one))).toEqual(new Set(expected))
      expect((await one.deadLetters({ offset: 0, limit: 1 })).total).toBe(expected.length)
      for (const [partition, last] of reached) {
        expect(one.devices.get(DeviceIdOf(`d${partition}`))?.revision).toBe(last)
        expect(one.applied()[partition]).toBe(last)
      }
    }
    expect(server.losses).toEqual([])
  })

  test('paused: saves fail, the store says that it is not current, and what was held back does not come late', async () => {
    const store = await surely(() => open(undefined, SHORT_TIMEOUT_MS))
    await saveSurely(store, nth(1, 1))
    server.signal('SIGSTOP')
    await expect(store.save(nth(1, 2))).rejects.toMatchObject(RETRYABLE)
    await until(() => !store.isUp(), 'the store to notice')
    expect(store.devices.get(DeviceIdOf('d1'))?.revision).toBe(1)
    server.signal('SIGCONT')
    // Not the second one: if it were carried out now, it would take the device back.
    await saveSurely(store, nth(1, 3))
    await until(() => store.isUp(), 'the store to be current')
    const other = await open()
    expect([
      store.devices.get(DeviceIdOf('d1'))?.revision,
      other.devices.get(DeviceIdOf('d1'))?.revision,
    ]).toEqual([3, 3])
    expect(store.applied()[1]).toBe(3)
  })

  test('away while it is opened: it can be opened again once Redis is back', async () => {
    const link = await server.link()
    await server.kill()
    await expect(openRedisUsers(link)).rejects.toMatchObject(RETRYABLE)
    await server.start()
    const users = await surely(() => openRedisUsers(link))
    expect(users.users.list()).toEqual([])
    await users.close()
  })

  test('a write that an earlier connection left behind is refused when it arrives', async () => {
    const store = await open('one')
    await store.save(nth(1, 1))
    await server.run(async (redis) => {
      const [identity, token] = await redis.mget('{fleet}:identity', '{fleet}:writer:one')
      await redis.client('KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await saveSurely(store, nth(1, 3))
      const positions = packLists([[], [], [1, 2], [], [], [], [], []])
      const nothing = packLists(Array.from({ length: 15 }, () => []))
      const write = (token: string | null) =>
        redis.eval(
          WRITE.lua,
          1,
          '{fleet}:',
          identity ?? '',
          'one',
          token ?? '',
          '0-0',
          9,
          9,
          9,
          9,
          9,
          positions,
          nothing,
        )
      await expect(write(token ?? '')).rejects.toThrow('REPLACED')
      expect(await redis.hget('{fleet}:positions', 'applied:1')).toBe('3')
      expect(await write(await redis.get('{fleet}:writer:one'))).toBe(3)
    })
    await until(() => store.applied()[1] === 2, 'what the latest connection wrote')
  })

  test('emptied while in use: nothing more is written, and every process is told to end', async () => {
    const [store, other] = [await open(), await open()]
    await store.save(nth(1, 1))
    await server.run((redis) => redis.flushall())
    await expect(store.save(nth(1, 2))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false })
    await until(() => new Set(server.losses).size >= 3, 'the other process to notice')
    expect(other.devices.get(DeviceIdOf('d1'))?.revision).toBe(1)
    expect(await server.run((redis) => redis.dbsize())).toBe(0)
    const fresh = await open()
    expect([fresh.devices.get(DeviceIdOf('d1')), fresh.applied()[1]]).toEqual([undefined, 0])
    // However much is there by now, it is another store.
    for (const n of [1, 2, 3]) await fresh.save(nth(2, n))
    await expect(other.save(nth(1, 2))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false })
  })

  test('back from an older copy: every process is told to end, and starts from what is left', async () => {
    const store = await open()
    await store.save(nth(1, 1))
    await server.kill()
    const [live, copy] = ['appendonlydir', 'copy'].map((name) => join(server.directory, name))
    cpSync(live ?? '', copy ?? '', { recursive: true })
    await server.start()
    await saveSurely(store, nth(1, 2))
    await server.kill()
    rmSync(live ?? '', { recursive: true })
    cpSync(copy ?? '', live ?? '', { recursive: true })
    await server.start()
    await until(() => server.losses.length > 0, 'the loss to be noticed')
    await expect(saveSurely(store, nth(1, 3))).rejects.toMatchObject({ retryable: false })
    const again = await open()
    expect([again.devices.get(DeviceIdOf('d1'))?.revision, again.applied()[1]]).toEqual([1, 1])
  })

  test('a replica that was behind: a process that comes back late saves nothing on top of what others saved since', async () => {
    const proxy = await CutProxy.open(`127.0.0.1:${server.port}`)
    const link = await server.link({ node: 'late', url: server.urlAt(proxy.url) })
    const late = await openRedisStore(link, { partitionOf })
    stores.push(late)
    for (const n of [1, 2, 3]) await late.save(nth(1, n))
    await server.kill()
    const [live, copy] = ['appendonlydir', 'copy'].map((name) => join(server.directory, name))
    cpSync(live ?? '', copy ?? '', { recursive: true })
    await server.start()
    for (const n of [4, 5, 6]) await saveSurely(late, nth(1, n))
    proxy.isClosed = true
    proxy.cut()
    await server.kill()
    rmSync(live ?? '', { recursive: true })
    cpSync(copy ?? '', live ?? '', { recursive: true })
    await server.start()
    const other = await open('other')
    for (let n = 1; n <= 6; n++) await other.save(nth(2, n))
    proxy.isClosed = false
    await expect(saveSurely(late, nth(1, 7))).rejects.toMatchObject({ retryable: false })
    expect(await server.run((redis) => redis.hget('{fleet}:positions', 'applied:1'))).toBe('3')
    proxy.close()
  })

  test('short of memory: saves are refused whole, and go on when there is room', async () => {
    const store = await open()
    await store.save(nth(1, 1))
    const memory = (bytes: number) => server.run((redis) => redis.config('SET', 'maxmemory', bytes))
    await memory(1)
    await expect(store.save(nth(1, 2))).rejects.toMatchObject({
      ...RETRYABLE,
      message: expect.stringContaining('maxmemory'),
    })
    expect(await server.run((redis) => redis.hget('{fleet}:positions', 'applied:1'))).toBe('1')
    await memory(0)
    await store.save(nth(1, 2))
    expect(await rowsOf(store)).toEqual(['d1/1', 'd1/2'])
  })

  test('that forgets its scripts, or is a replica for a while, is no matter', async () => {
    const store = await open()
    await store.save(nth(1, 1))
    await server.run((redis) => redis.script('FLUSH'))
    await store.save(nth(1, 2))
    await server.run((redis) => redis.replicaof('127.0.0.1', 1))
    await expect(store.save(nth(1, 3))).rejects.toMatchObject({
      ...RETRYABLE,
      message: expect.stringContaining('replica'),
    })
    await server.run((redis) => redis.replicaof('NO', 'ONE'))
    await saveSurely(store, nth(1, 3))
    expect(await rowsOf(store)).toEqual(['d1/1', 'd1/2', 'd1/3'])
  })

  test('busy with a script of somebody else: saves fail and go on', async () => {
    const store = await open()
    await server.run(async (redis) => {
      await redis.config('SET', 'busy-reply-threshold', 1)
      const hang = redis.eval('while true do end', 0).catch(() => 'killed')
      await expect(store.save(nth(1, 1))).rejects.toMatchObject(RETRYABLE)
      await server.run((other) => other.script('KILL'))
      expect(await hang).toBe('killed')
    })
    await saveSurely(store, nth(1, 2))
    expect(store.applied()[1]).toBe(2)
  })

  test('under the name of another process, the earlier one is told to end and writes no more', async () => {
    const store = await open('one')
    await store.save(nth(1, 1))
    const later = await open('one')
    await expect(store.save(nth(1, 2))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false })
    expect(server.losses.map(({ message }) => message)).toEqual([expect.stringContaining('name')])
    await later.save(nth(1, 2))
    expect(await rowsOf(later)).toEqual(['d1/1', 'd1/2'])
  })
})
