// Users in tables of the store's LMDB file.
import { newPackr } from '../../domain/packing.ts'
import { Fault } from '../../ports/fault.ts'
import type { Users } from '../../ports/users.ts'
import { CommitError, type LmdbEnv } from '../lmdb/lmdb-env.ts'
import { Directory, type UserChange } from './directory.ts'
import { HeldUsers } from './held-users.ts'

const ACCOUNTS = { user: 'users', grant: 'grants', api_key: 'api_keys' } as const
const MORE = { provisioning_key: 'provisioning_keys', view: 'views', preferences: 'preferences' } as const
const TABLES = { ...ACCOUNTS, ...MORE } as const
export const USER_TABLES: readonly string[] = Object.values(TABLES)
/** Tables that files of former releases have, too: a file that is only read gets no others. */
export const ACCOUNT_TABLES: readonly string[] = Object.values(ACCOUNTS)

const BATCH = 1_000

/** The environment must have these tables. The caller closes it. */
export function openLmdbUsers(env: LmdbEnv, tables = USER_TABLES): Users {
  const directory = new Directory()
  // Only this file writes the tables, and in this type.
  for (const [kind, table] of Object.entries(TABLES).filter(([, name]) => tables.includes(name)))
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
