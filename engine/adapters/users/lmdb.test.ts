import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { UserId } from '../../../schemas/ids.ts'
import type { Users } from '../../ports/users.ts'
import { LmdbEnv } from '../lmdb/lmdb-env.ts'
import { openLmdbStore, STORE_TABLES } from '../store/lmdb.ts'
import { DeviceIdOf, device, partitionOf, save } from '../store/testing/contract.ts'
import { openLmdbUsers, USER_TABLES } from './lmdb.ts'
import { user, usersContract } from './testing/contract.ts'

const root = mkdtempSync(join(tmpdir(), 'fleet-users-'))
const envs = new Map<Users, { env: LmdbEnv; path: string }>()
let count = 0
afterAll(() => rmSync(root, { recursive: true, force: true }))

function open(path = join(root, `${count++}.mdb`)): Users {
  const env = new LmdbEnv({ path, durability: 'process', tables: USER_TABLES })
  const users = openLmdbUsers(env)
  envs.set(users, { env, path })
  return users
}

usersContract({
  name: 'lmdb',
  open: async () => open(),
  restart: async (users) => {
    await envs.get(users)?.env.close()
    return open(envs.get(users)?.path)
  },
  close: async (users) => envs.get(users)?.env.close(),
})

test('store and users share one file', async () => {
  const path = join(root, 'both.mdb')
  const tables = [...STORE_TABLES, ...USER_TABLES]
  const env = new LmdbEnv({ path, durability: 'power', tables })
  await Promise.all([
    openLmdbUsers(env).add(user('u1')),
    openLmdbStore(env, { partitionOf }).save(save([device('d1')])),
  ])
  await env.close()
  const again = new LmdbEnv({ path, durability: 'power', tables })
  expect(openLmdbUsers(again).get(UserId('u1'))).toEqual(user('u1'))
  expect(openLmdbStore(again, { partitionOf }).devices.get(DeviceIdOf('d1'))).toEqual(device('d1'))
  await again.close()
})
