import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Store } from '../../ports/store.ts'
import { LmdbEnv } from '../lmdb-env.ts'
import { device, partitionOf, save, storeContract } from './contract.ts'
import { openLmdbStore, STORE_TABLES } from './lmdb.ts'

const root = mkdtempSync(join(tmpdir(), 'fleet-store-'))
const paths = new Map<Store, string>()
let count = 0
afterAll(() => rmSync(root, { recursive: true, force: true }))

function open(path = join(root, `${count++}.mdb`)): Store {
  const store = openLmdbStore(new LmdbEnv({ path, durability: 'process', tables: STORE_TABLES }), {
    partitionOf,
  })
  paths.set(store, path)
  return store
}

storeContract({
  name: 'lmdb',
  open: async () => open(),
  restart: async (store) => {
    await store.close()
    return open(paths.get(store))
  },
})

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
