// What every store promises; each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CommandId, type DeviceId, Micros, Millis, Partition } from '../../../../schemas/ids.ts'
import type { DeviceRecord } from '../../../domain/device/record.ts'
import { LIMITS } from '../../../limits.ts'
import {
  type DeadLetter,
  type Directory,
  NO_SAVE,
  type Save,
  type Store,
  type StoredDevice,
} from '../../../ports/store.ts'
import type { OutboxBounds } from '../outbox.ts'
import { goneContract } from './gone-contract.ts'
import { letterContract } from './letter-contract.ts'

export interface StoreContract {
  readonly name: string
  /** A new, empty store, whose devices belong to the partition `partitionOf` says. */
  open(outbox?: OutboxBounds): Promise<Store>
  /** The same store after the process ended without closing it. */
  restart(store: Store): Promise<Store>
}

/** Tests write ids as they are; the digits at the end are the partition. */
export const DeviceIdOf = (text: string): DeviceId => text as DeviceId
export function partitionOf(id: DeviceId): Partition {
  return Partition(Number(/\d+$/.exec(id)?.[0] ?? 0) % LIMITS.partitions)
}

export function device(id: string, over: Partial<DeviceRecord> = {}): DeviceRecord {
  return {
    id: DeviceIdOf(id),
    name: `Name of ${id}`,
    type: 'mqtt_device',
    description: undefined,
    group: undefined,
    tags: [],
    metadata: {},
    parentId: undefined,
    status: 'offline',
    statusReason: undefined,
    statusSince: Millis(1_700_000_000_000),
    tokensValidFrom: Millis(0),
    firmwareVersion: undefined,
    issues: [],
    seenAt: undefined,
    createdAt: Millis(1_700_000_000_000),
    createdBy: 'user_1',
    updatedAt: Millis(1_700_000_000_000),
    revision: 1,
    ...over,
  }
}

export function save(changed: readonly DeviceRecord[], over: Partial<Save> = {}): Save {
  return { ...NO_SAVE, changed, ...over }
}

export function letter(id: string, deviceId = 'd1'): DeadLetter {
  return {
    id,
    deviceId: DeviceIdOf(deviceId),
    topic: 'telemetry',
    reason: 'MALFORMED',
    detail: 'not JSON',
    payload: Uint8Array.of(1, 2, 255),
    payloadBytes: 3,
    receivedAt: Micros(1),
  }
}

async function loadAll(store: Store, partitions: readonly number[]): Promise<readonly StoredDevice[]> {
  const found: StoredDevice[] = []
  for await (const batch of store.load(partitions.map((p) => Partition(p)))) found.push(...batch)
  return found
}

export function storeContract({ name, open, restart }: StoreContract): void {
  describe(`store: ${name}`, () => {
    let store: Store

    beforeEach(async () => {
      store = await open()
    })
    afterEach(async () => {
      await store.close()
    })

    test('a saved record is found as it was, at once and after a restart', async () => {
      const full = device('robot-7', {
        description: 'ünï',
        group: 'eu/berlin',
        tags: ['a', 'b'],
        metadata: {
          deep: { list: [1, 2.5, null, true, 'x'], big: 2 ** 53 },
          'a.b': '',
          // Names that mean something elsewhere.
          odd: { constructor: 'x', toJSON: 1, toString: null },
        },
        parentId: DeviceIdOf('gw'),
        statusReason: 'why',
        firmwareVersion: '1.2.3',
        issues: ['hot'],
        seenAt: Millis(1_700_000_000_123),
      })
      await store.save(save([full]))
      expect(store.devices.get(full.id)).toEqual(full)
      store = await restart(store)
      expect(store.devices.get(full.id)).toEqual(full)
      expect(store.devices.get(DeviceIdOf('robot-8'))).toBeUndefined()
    })

    test('a later save replaces the record everywhere', async () => {
      await store.save(save([device('d1', { status: 'online', group: 'a', tags: ['x'] })]))
      const later = device('d1', { status: 'error', group: 'b', tags: ['y'], name: 'New', revision: 2 })
      await store.save(save([later]))
      expect(store.devices.list({}, { offset: 0, limit: 10 })).toEqual({ devices: [later], total: 1 })
      expect(store.devices.list({ group: 'a' }, { offset: 0, limit: 10 }).total).toBe(0)
      expect(store.devices.list({ tags: ['x'] }, { offset: 0, limit: 10 }).total).toBe(0)
      expect(store.devices.list({ q: 'new' }, { offset: 0, limit: 10 }).total).toBe(1)
      expect(store.devices.countByStatus()).toMatchObject({ online: 0, error: 1 })
      expect(store.devices.summary(later.id)).toEqual({
        id: 'd1',
        name: 'New',
        type: 'mqtt_device',
        status: 'error',
        group: 'b',
        tags: ['y'],
      })
    })

    test('sub-devices are found by their gateway, at once and after a restart', async () => {
      const gateway = DeviceIdOf('gw')
      await store.save(save([device('gw', { type: 'gateway' }), device('c1', { parentId: gateway })]))
      await store.save(save([device('c1', { parentId: gateway, name: 'New', revision: 2 })]))
      await store.save(save([device('c2', { parentId: gateway }), device('other')]))
      for (const isAgain of [false, true]) {
        if (isAgain) store = await restart(store)
        expect([...store.devices.subDevices(gateway)].sort()).toEqual(['c1', 'c2'])
        expect(store.devices.subDevices(DeviceIdOf('other'))).toEqual([])
        expect(store.devices.matching({ parentId: gateway })).toEqual(['c1', 'c2'])
        expect(store.devices.matching({})).toEqual(['c1', 'c2', 'gw', 'other'])
        expect(store.devices.list({ parentId: gateway, q: 'c2' }, { offset: 0, limit: 10 }).total).toBe(1)
        expect(store.devices.list({ parentId: DeviceIdOf('c1') }, { offset: 0, limit: 10 }).total).toBe(0)
      }
    })

    test('positions move with the records they belong to', async () => {
      await store.save(
        save([device('d1')], {
          applied: [
            { partition: Partition(1), seq: 5 },
            { partition: Partition(63), seq: 2 ** 40 },
          ],
        }),
      )
      await store.checkpoint({ claims: [], inserted: [{ partition: Partition(1), seq: 4 }], vitals: [] })
      store = await restart(store)
      expect([store.applied()[1], store.applied()[63], store.applied()[2]]).toEqual([5, 2 ** 40, 0])
      expect([store.inserted()[1], store.inserted()[63]]).toEqual([4, 0])
    })

    test('what an earlier owner of a partition writes is refused whole, also after a restart', async () => {
      const claim = (partition: number, epoch: number) => ({ partition: Partition(partition), epoch })
      const mine = [claim(1, 5), claim(2, 7)]
      await store.claim(mine)
      await store.claim(mine)
      const applied = [{ partition: Partition(1), seq: 5 }]
      await store.save(save([device('d1')], { claims: mine, applied }))
      await store.claim([claim(2, 9)])
      for (const isAgain of [false, true]) {
        if (isAgain) store = await restart(store)
        const fenced = { code: 'STORE_FENCED', retryable: false }
        const later = [{ partition: Partition(1), seq: 6 }]
        const outdated = save([device('d1', { revision: 2 }), device('d2')], { claims: mine, applied: later })
        await expect(store.save(outdated)).rejects.toMatchObject(fenced)
        const checkpoint = { claims: mine, inserted: later, vitals: [] }
        await expect(store.checkpoint(checkpoint)).rejects.toMatchObject(fenced)
        await expect(store.claim([claim(3, 1), claim(2, 8)])).rejects.toMatchObject(fenced)
        expect(store.devices.list({}, { offset: 0, limit: 9 })).toEqual({ devices: [device('d1')], total: 1 })
        expect([store.applied()[1], store.inserted()[1]]).toEqual([5, 0])
      }
      await store.save(save([device('d3')], { claims: [claim(1, 5), claim(3, 0)] }))
      expect(store.devices.get(DeviceIdOf('d3'))).toBeDefined()
    })

    test('positions handed out do not change under the reader', async () => {
      const before = store.applied()
      await store.save(save([], { applied: [{ partition: Partition(3), seq: 1 }] }))
      expect(before[3]).toBe(0)
      expect(store.applied()[3]).toBe(1)
    })

    test('saves of several shards at once all count', async () => {
      const saves = Array.from({ length: 30 }, (_, i) =>
        store.save(save([device(`d${i}`)], { applied: [{ partition: Partition(i), seq: i + 1 }] })),
      )
      await Promise.all(saves)
      store = await restart(store)
      expect(store.devices.list({}, { offset: 0, limit: 100 }).total).toBe(30)
      expect(store.applied().slice(0, 30)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1))
    })

    test('the same save again changes nothing', async () => {
      const again = save([device('d1')], {
        deadLetters: [letter('dl_1')],
        late: [{ deviceId: DeviceIdOf('d1'), hour: 3600 }],
      })
      await store.save(again)
      await store.save(again)
      expect(store.devices.list({}, { offset: 0, limit: 10 }).total).toBe(1)
      expect((await store.deadLetters({ offset: 0, limit: 10 })).total).toBe(1)
      expect(store.lateHours()).toHaveLength(1)
    })

    test('loads the devices of the partitions asked for, with their vitals, in batches', async () => {
      const devices = Array.from({ length: 2_500 }, (_, i) => device(`d${i}`))
      await store.save(save(devices))
      await store.checkpoint({
        claims: [],
        inserted: [],
        vitals: [{ deviceId: DeviceIdOf('d64'), bytes: Uint8Array.of(9, 8) }],
      })
      store = await restart(store)
      const loaded = await loadAll(store, [0, 5])
      const expected = devices.filter((d) => [0, 5].includes(partitionOf(d.id)))
      expect(loaded).toHaveLength(expected.length)
      expect(new Set(loaded.map((l) => l.device.id))).toEqual(new Set(expected.map((d) => d.id)))
      const withVitals = loaded.filter((l) => l.vitals !== undefined)
      expect(withVitals.map((l) => [l.device.id, [...(l.vitals ?? [])]])).toEqual([['d64', [9, 8]]])
      const sizes: number[] = []
      for await (const batch of store.load(Array.from({ length: 64 }, (_, p) => Partition(p))))
        sizes.push(batch.length)
      expect(sizes.length).toBeGreaterThan(1)
      expect(sizes.reduce((a, b) => a + b)).toBe(2_500)
    })

    test('parts and commands come with their devices, as they were saved last', async () => {
      const [d1, d2] = [DeviceIdOf('d1'), DeviceIdOf('d12')]
      const command = (deviceId: DeviceId, id: string, ...bytes: readonly number[]) => ({
        deviceId,
        commandId: CommandId(id),
        bytes: bytes.length === 0 ? undefined : Uint8Array.from(bytes),
      })
      const many = Array.from({ length: 150 }, (_, i) => command(d2, `c${i}`, i))
      await store.save(
        save([device('d1'), device('d12')], {
          parts: [
            { deviceId: d1, part: 'shadow', bytes: Uint8Array.of(1) },
            { deviceId: d1, part: 'alerts', bytes: Uint8Array.of(2) },
            { deviceId: d2, part: 'firmware', bytes: Uint8Array.of(3) },
          ],
          commands: [command(d1, 'a', 1), command(d1, 'b', 2), command(d1, 'c', 3), ...many],
        }),
      )
      const parts = [{ deviceId: d1, part: 'shadow', bytes: Uint8Array.of(7, 7) }] as const
      await store.save(save([], { parts, commands: [command(d1, 'a'), command(d1, 'b', 9)] }))
      store = await restart(store)
      const loaded = new Map((await loadAll(store, [1, 12])).map((found) => [found.device.id, found]))
      const commandsOf = (id: DeviceId) =>
        loaded
          .get(id)
          ?.commands.map((bytes) => [...bytes].join())
          .sort()
      const partsOf = (id: DeviceId) =>
        Object.entries(loaded.get(id)?.parts ?? {}).map(([part, bytes]) => [part, ...bytes])
      expect(partsOf(d1)).toEqual([
        ['shadow', 7, 7],
        ['alerts', 2],
      ])
      expect(commandsOf(d1)).toEqual(['3', '9'])
      expect(partsOf(d2)).toEqual([['firmware', 3]])
      expect(commandsOf(d2)).toHaveLength(150)
    })

    test('facts outlive a restart', async () => {
      expect(store.getFact('secret')).toBeUndefined()
      await store.putFact('secret', 'a')
      await store.putFact('secret', 'b')
      store = await restart(store)
      expect(store.getFact('secret')).toBe('b')
    })

    test('late hours stay until they are cleared', async () => {
      const hours = [1, 2, 3].map((n) => ({ deviceId: DeviceIdOf('d1'), hour: n * 3600 }))
      const span = { deviceId: DeviceIdOf('d2'), hour: 3600, until: 4 * 3600 }
      await store.save(save([], { late: [...hours, { ...span, until: 3 * 3600 }, span] }))
      await store.clearLate([...hours.slice(0, 2), { ...span, until: 3 * 3600 }])
      store = await restart(store)
      expect(store.lateHours()).toEqual(expect.arrayContaining([...hours.slice(2), span]))
      expect([store.lateHoursOf(DeviceIdOf('d2')), store.lateHours().length]).toEqual([[span], 2])
    })

    const again = async () => {
      store = await restart(store)
    }
    letterContract(() => store, again, { DeviceIdOf, letter, save })
    goneContract(() => store, again, { DeviceIdOf, device, letter, save, loadAll })
    listContract(() => store)
  })
}

function listContract(storeOf: () => Store): void {
  describe('list', () => {
    beforeEach(async () => {
      await storeOf().save(
        save([
          device('a1', { name: 'Zeta', group: 'eu', createdAt: Millis(3), status: 'online' }),
          device('b2', { name: 'alpha', group: 'eu/berlin', createdAt: Millis(5), tags: ['x', 'y'] }),
          device('c3', { name: 'Beta', group: 'europe', createdAt: Millis(5), tags: ['x'], type: 'gateway' }),
          device('d4', { name: 'beta 2', createdAt: Millis(1), updatedAt: Millis(9) }),
        ]),
      )
    })
    const ids = (
      filter: Parameters<Directory['list']>[0],
      page: Partial<Parameters<Directory['list']>[1]> = {},
    ) =>
      storeOf()
        .devices.list(filter, { offset: 0, limit: 100, ...page })
        .devices.map((d) => d.id)

    test('is newest first, then by id', () => expect(ids({})).toEqual(['b2', 'c3', 'a1', 'd4']))

    test('counts the whole set whatever the page', () => {
      const page = storeOf().devices.list({}, { offset: 1, limit: 2 })
      expect([page.total, page.devices.map((d) => d.id)]).toEqual([4, ['c3', 'a1']])
    })

    test('a group is a subtree that ends at a slash', () => {
      expect(ids({ group: 'eu' })).toEqual(['b2', 'a1'])
      expect(ids({ group: 'eu', groupExact: true })).toEqual(['a1'])
      expect(ids({ within: ['eu/berlin', 'europe'] })).toEqual(['b2', 'c3'])
      expect(ids({ within: ['eu'], group: 'europe' })).toEqual([])
      expect(ids({ within: [] })).toEqual([])
    })

    test('filters by status, type, all tags, and a prefix of name or id in any case', () => {
      expect(ids({ status: 'online' })).toEqual(['a1'])
      expect(ids({ status: ['online', 'error'] })).toEqual(['a1'])
      expect(ids({ status: [] })).toEqual([])
      expect(ids({ type: 'gateway' })).toEqual(['c3'])
      expect(ids({ type: 'unheard of' })).toEqual([])
      expect(ids({ tags: ['x'] })).toEqual(['b2', 'c3'])
      expect(ids({ tags: ['y', 'x'] })).toEqual(['b2'])
      expect(ids({ q: 'BETA' })).toEqual(['c3', 'd4'])
      expect(ids({ q: 'D' })).toEqual(['d4'])
      expect(ids({ tags: ['x'], type: 'gateway', q: 'b' })).toEqual(['c3'])
    })

    test('sorts by each field, either way, ties by id', () => {
      expect(ids({}, { sort: 'created_at' })).toEqual(['d4', 'a1', 'b2', 'c3'])
      expect(ids({}, { sort: 'device_id', descending: true })).toEqual(['d4', 'c3', 'b2', 'a1'])
      expect(ids({}, { sort: 'name' })).toEqual(['c3', 'a1', 'b2', 'd4'])
      expect(ids({}, { sort: 'status', descending: true })).toEqual(['a1', 'b2', 'c3', 'd4'])
      expect(ids({}, { sort: 'type' })).toEqual(['c3', 'a1', 'b2', 'd4'])
      expect(ids({}, { sort: 'group' })).toEqual(['d4', 'a1', 'b2', 'c3'])
      expect(ids({}, { sort: 'updated_at' })).toEqual(['d4', 'a1', 'b2', 'c3'])
    })
  })
}
