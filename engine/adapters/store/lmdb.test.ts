import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Store } from '../../ports/store.ts'
import { LmdbEnv } from '../lmdb/lmdb-env.ts'
import { mountSmallDisk } from '../testing/small-disk.ts'
import { openLmdbStore, STORE_TABLES } from './lmdb.ts'
import type { OutboxBounds } from './outbox.ts'
import { device, letter, partitionOf, type StoreContract, save, storeContract } from './testing/contract.ts'
import { documentsContract } from './testing/documents-contract.ts'
import { outboxContract } from './testing/outbox-contract.ts'
import { writersContract } from './testing/writers-contract.ts'

const root = mkdtempSync(join(tmpdir(), 'fleet-store-'))
const paths = new Map<Store, string>()
let count = 0
const disk = mountSmallDisk(join(root, 'disk'))
afterAll(() => {
  disk?.unmount()
  rmSync(root, { recursive: true, force: true })
})

function open(path = join(root, `${count++}.mdb`), outbox?: OutboxBounds): Store {
  const store = openLmdbStore(new LmdbEnv({ path, durability: 'process', tables: STORE_TABLES }), {
    partitionOf,
    outbox,
  })
  paths.set(store, path)
  return store
}

const CONTRACT: StoreContract = {
  name: 'lmdb',
  open: async (outbox) => open(undefined, outbox),
  restart: async (store) => {
    await store.close()
    return open(paths.get(store))
  },
}
storeContract(CONTRACT)
outboxContract(CONTRACT)
writersContract(CONTRACT)
documentsContract(CONTRACT)

test('the file is readable by its owner alone', async () => {
  const store = open()
  expect(statSync(paths.get(store) ?? '').mode & 0o777).toBe(0o600)
  await store.close()
})

test('a save after closing is refused with a fault', async () => {
  const store = open()
  await store.close()
  await expect(store.save(save([device('d1')]))).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    retryable: true,
  })
})

test.skipIf(disk === undefined)(
  'a full disk refuses saves, leaves no trace, and saves go on when there is room (needs root)',
  async () => {
    if (disk === undefined) return
    const store = open(join(disk.path, 'store.mdb'))
    await store.save(save([device('d1')]))
    disk.fill(21)
    const larger = save([device('d1', { revision: 2, status: 'error' }), device('d2')], {
      applied: [{ partition: partitionOf(device('d1').id), seq: 9 }],
      deadLetters: [letter('dl_1')],
    })
    for (let i = 0; i < 3; i++)
      await expect(store.save(larger)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true })
    expect(store.devices.list({}, { offset: 0, limit: 9 })).toEqual({ devices: [device('d1')], total: 1 })
    expect([store.devices.countByStatus().error, store.applied()[1]]).toEqual([0, 0])
    expect((await store.deadLetters({ offset: 0, limit: 9 })).total).toBe(0)
    disk.clear()
    await store.save(larger)
    expect(store.devices.list({ status: 'error' }, { offset: 0, limit: 9 }).total).toBe(1)
    expect((await store.deadLetters({ offset: 0, limit: 9 })).total).toBe(1)
    await store.close()
  },
)
