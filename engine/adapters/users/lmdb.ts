// Users in tables of the store's LMDB file, held in memory as well.
//
// U1. Memory changes after the commit only. Writes go one after another, so that a check still holds when its write
//     is durable.
import { Packr } from 'msgpackr'
import type { UserId } from '../../../schemas/ids.ts'
import { Fault } from '../../ports/fault.ts'
import type { RefreshGrant, User, Users } from '../../ports/users.ts'
import { type Change, CommitError, type LmdbEnv } from '../lmdb-env.ts'
import { Directory, type GrantsOf } from './directory.ts'

const USERS = 'users'
const GRANTS = 'grants'
export const USER_TABLES: readonly string[] = [USERS, GRANTS]

const BATCH = 1_000

/** The environment holds at least `USER_TABLES`; whoever opened it closes it. */
export function openLmdbUsers(env: LmdbEnv): Users {
  return new LmdbUsers(env)
}

const packr = new Packr({ useRecords: false })

class LmdbUsers implements Users {
  readonly #env: LmdbEnv
  readonly #directory = new Directory()
  #lastTurn: Promise<unknown> = Promise.resolve()

  constructor(env: LmdbEnv) {
    this.#env = env
    // What a table holds was put there by this file, in this type.
    this.#scan(USERS, (value) => this.#directory.putUser(value as User))
    this.#scan(GRANTS, (value) => this.#directory.putGrant(value as RefreshGrant))
  }

  get(id: UserId): User | undefined {
    return this.#directory.get(id)
  }

  getByEmail(email: string): User | undefined {
    return this.#directory.getByEmail(email)
  }

  count(): number {
    return this.#directory.size
  }

  list(): readonly User[] {
    return this.#directory.list()
  }

  put(user: User, options: { readonly onlyIfNone?: boolean } = {}): Promise<boolean> {
    return this.#inTurn(async () => {
      if (!this.#directory.admits(user, options.onlyIfNone ?? false)) return false
      await this.#write([{ table: USERS, key: user.id, value: packr.pack(user) }])
      this.#directory.putUser(user)
      return true
    })
  }

  putGrant(grant: RefreshGrant): Promise<void> {
    return this.#inTurn(async () => {
      const obsolete = this.#directory.obsolete(grant)
      const put = { table: GRANTS, key: grant.tokenHash, value: packr.pack(grant) }
      await this.#write([put, ...removals(obsolete)])
      this.#directory.dropGrants(obsolete)
      this.#directory.putGrant(grant)
    })
  }

  getGrant(tokenHash: string): RefreshGrant | undefined {
    return this.#directory.getGrant(tokenHash)
  }

  dropGrants(which: GrantsOf): Promise<void> {
    return this.#inTurn(async () => {
      const hashes = this.#directory.hashesOf(which)
      await this.#write(removals(hashes))
      this.#directory.dropGrants(hashes)
    })
  }

  #inTurn<T>(step: () => Promise<T>): Promise<T> {
    // A step that failed told its caller; the next one is no part of that.
    const turn = this.#lastTurn.then(step, step)
    this.#lastTurn = turn
    return turn
  }

  async #write(changes: readonly Change[]): Promise<void> {
    try {
      await this.#env.write(changes)
    } catch (cause) {
      const isFinal = cause instanceof CommitError && cause.isFinal
      throw new Fault('STORE_UNAVAILABLE', { retryable: !isFinal, cause })
    }
  }

  #scan(table: string, take: (value: unknown) => void): void {
    for (let found = this.#env.readRange(table, undefined, BATCH); found.length > 0; ) {
      for (const { value } of found) take(packr.unpack(value))
      found = this.#env.readRange(table, found.at(-1)?.key, BATCH)
    }
  }
}

function removals(hashes: readonly string[]): readonly Change[] {
  return hashes.map((key) => ({ table: GRANTS, key }))
}
