// Users in tables of the store's LMDB file.
import { newPackr } from '../../domain/packing.ts'
import type { Users } from '../../ports/users.ts'
import type { Change, LmdbEnv } from '../lmdb/lmdb-env.ts'
import { saveChanges } from '../lmdb/save-changes.ts'
import { CachedUsers } from './cached-users.ts'
import { Directory, type UserChange } from './directory.ts'

const TABLES = {
  ...{ user: 'users', grant: 'grants', api_key: 'api_keys' },
  ...{ provisioning_key: 'provisioning_keys', view: 'views', preferences: 'preferences' },
} as const
export const USER_TABLES: readonly string[] = Object.values(TABLES)

/** The environment must have been opened with these tables. The caller closes it. */
export function openLmdbUsers(env: LmdbEnv): Users {
  const directory = new Directory()
  // Only this file writes the tables, and in this type.
  for (const [kind, table] of Object.entries(TABLES).filter(([, name]) => env.has(name)))
    for (const { key, value } of env.entries(table))
      directory.apply([{ kind, key: String(key), value: packr.unpack(value) } as UserChange])
  return new CachedUsers(directory, async (changes) => {
    await saveChanges(env, changes.map(toChange))
    directory.apply(changes)
    return 'written'
  })
}

const packr = newPackr()

function toChange({ kind, key, value }: UserChange): Change {
  const table = TABLES[kind]
  return value === undefined ? { table, key } : { table, key, value: packr.pack(value) }
}
