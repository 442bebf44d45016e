// Users in tables of the store's LMDB file.
import { newPackr } from '../../domain/packing.ts'
import { Fault } from '../../ports/fault.ts'
import type { Users } from '../../ports/users.ts'
import { CommitError, type LmdbEnv } from '../lmdb/lmdb-env.ts'
import { Directory, type UserChange } from './directory.ts'
import { HeldUsers } from './held-users.ts'

const TABLES = {
  ...{ user: 'users', grant: 'grants', api_key: 'api_keys' },
  ...{ provisioning_key: 'provisioning_keys', view: 'views', preferences: 'preferences' },
} as const
export const USER_TABLES: readonly string[] = Object.values(TABLES)

const BATCH = 1_000

/** The environment must have been opened with these tables. The caller closes it. */
export function openLmdbUsers(env: LmdbEnv): Users {
  const directory = new Directory()
  // Only this file writes the tables, and in this type.
  for (const [kind, table] of Object.entries(TABLES).filter(([, name]) => env.has(name)))
    scan(env, table, (key, value) => directory.apply([{ kind, key, value } as UserChange]))
  return new HeldUsers(directory, async (changes) => {
    await write(env, changes)
    directory.apply(changes)
    return 'written'
  })
}

const packr = newPackr()

async function write(env: LmdbEnv, changes: readonly UserChange[]): Promise<void> {
  try {
    await env.write(
      changes.map(({ kind, key, value }) => {
        const table = TABLES[kind]
        return value === undefined ? { table, key } : { table, key, value: packr.pack(value) }
      }),
    )
  } catch (cause) {
    const isFinal = cause instanceof CommitError && cause.isFinal
    throw new Fault('STORE_UNAVAILABLE', { retryable: !isFinal, cause })
  }
}

function scan(env: LmdbEnv, table: string, take: (key: string, value: unknown) => void): void {
  for (let found = env.readRange(table, undefined, BATCH); found.length > 0; ) {
    for (const { key, value } of found) take(String(key), packr.unpack(value))
    found = env.readRange(table, found.at(-1)?.key, BATCH)
  }
}
