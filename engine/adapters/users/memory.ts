// Users without a disk, for tests and simulations.
import type { UserId } from '../../../schemas/ids.ts'
import type { RefreshGrant, User, Users } from '../../ports/users.ts'
import { Directory, type GrantsOf } from './directory.ts'

export class MemoryUsers implements Users {
  readonly #directory: Directory

  constructor(directory = new Directory()) {
    this.#directory = directory
  }

  /** The process dies. What was durable is in the one returned. */
  crash(): MemoryUsers {
    return new MemoryUsers(this.#directory)
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

  async put(user: User, options: { readonly onlyIfNone?: boolean } = {}): Promise<boolean> {
    if (!this.#directory.admits(user, options.onlyIfNone ?? false)) return false
    this.#directory.putUser(user)
    return true
  }

  async putGrant(grant: RefreshGrant): Promise<void> {
    this.#directory.dropGrants(this.#directory.obsolete(grant))
    this.#directory.putGrant(grant)
  }

  getGrant(tokenHash: string): RefreshGrant | undefined {
    return this.#directory.getGrant(tokenHash)
  }

  async dropGrants(which: GrantsOf): Promise<void> {
    this.#directory.dropGrants(this.#directory.hashesOf(which))
  }
}
