// Users and their logins in memory, found by id, e-mail, user and family. Few enough to be held whole.
import type { UserId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { RefreshGrant, User } from '../../ports/users.ts'

export type GrantsOf = { readonly userId: UserId } | { readonly family: string }

export class Directory {
  readonly #users = new Map<UserId, User>()
  readonly #byEmail = new Map<string, UserId>()
  readonly #grants = new Map<string, RefreshGrant>()
  readonly #hashesOf = new Map<UserId, Set<string>>()

  get size(): number {
    return this.#users.size
  }

  get(id: UserId): User | undefined {
    return this.#users.get(id)
  }

  getByEmail(email: string): User | undefined {
    const id = this.#byEmail.get(email.toLowerCase())
    return id === undefined ? undefined : this.#users.get(id)
  }

  list(): readonly User[] {
    return [...this.#users.values()]
  }

  /** Whether this user may be written as it is. */
  admits(user: User, onlyIfNone: boolean): boolean {
    if (onlyIfNone && this.#users.size > 0) return false
    const owner = this.#byEmail.get(user.email.toLowerCase())
    return owner === undefined || owner === user.id
  }

  putUser(user: User): void {
    const before = this.#users.get(user.id)
    if (before !== undefined) this.#byEmail.delete(before.email.toLowerCase())
    this.#users.set(user.id, user)
    this.#byEmail.set(user.email.toLowerCase(), user.id)
  }

  getGrant(tokenHash: string): RefreshGrant | undefined {
    return this.#grants.get(tokenHash)
  }

  putGrant(grant: RefreshGrant): void {
    this.#grants.set(grant.tokenHash, grant)
    const hashes = this.#hashesOf.get(grant.userId) ?? new Set()
    hashes.add(grant.tokenHash)
    this.#hashesOf.set(grant.userId, hashes)
  }

  /** The user's grants that have no use any more once `grant` is there: expired by then, or too many. */
  obsolete(grant: RefreshGrant): readonly string[] {
    const grants = this.#grantsOf(grant.userId).filter(({ tokenHash }) => tokenHash !== grant.tokenHash)
    const live = grants
      .filter(({ expiresAt }) => expiresAt > grant.usedAt)
      .sort((a, b) => b.usedAt - a.usedAt)
    const kept = new Set(live.slice(0, LIMITS.grantsPerUserMax - 1))
    return grants.filter((each) => !kept.has(each)).map(({ tokenHash }) => tokenHash)
  }

  hashesOf(which: GrantsOf): readonly string[] {
    if ('userId' in which) return [...(this.#hashesOf.get(which.userId) ?? [])]
    return [...this.#grants.values()].filter(({ family }) => family === which.family).map((g) => g.tokenHash)
  }

  dropGrants(hashes: readonly string[]): void {
    for (const hash of hashes) {
      const grant = this.#grants.get(hash)
      if (grant === undefined) continue
      this.#grants.delete(hash)
      const left = this.#hashesOf.get(grant.userId)
      left?.delete(hash)
      if (left?.size === 0) this.#hashesOf.delete(grant.userId)
    }
  }

  #grantsOf(userId: UserId): readonly RefreshGrant[] {
    return [...(this.#hashesOf.get(userId) ?? [])].flatMap((hash) => this.#grants.get(hash) ?? [])
  }
}
