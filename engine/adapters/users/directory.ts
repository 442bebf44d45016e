// Users and the keys of services in memory, found by id and e-mail, and what must be true of them. Few enough to be
// held whole.
import type { UserId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Added, ApiKey, Edited, User } from '../../ports/users.ts'
import { Grants } from './grants.ts'

export class Directory {
  readonly grants = new Grants()
  readonly keys = new Map<UserId, ApiKey>()
  readonly #users = new Map<UserId, User>()
  readonly #byEmail = new Map<string, UserId>()

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

  mayAdd(user: User, onlyIfNone: boolean): Added {
    if (onlyIfNone && this.#users.size > 0) return 'not_the_first'
    if (this.getByEmail(user.email) !== undefined) return 'email_taken'
    return this.#users.size >= LIMITS.usersMax ? 'full' : 'added'
  }

  /** `after` is undefined for a removal. */
  mayEdit(before: User, after: User | undefined): Edited {
    const owner = after && this.getByEmail(after.email)
    if (owner !== undefined && owner.id !== before.id) return { kind: 'kept', why: 'email_taken' }
    if (isEnabledAdmin(before) && !(after && isEnabledAdmin(after)) && !this.#hasAdminBeside(before))
      return { kind: 'kept', why: 'last_admin' }
    return { kind: 'edited', user: after ?? before }
  }

  put(user: User): void {
    const before = this.#users.get(user.id)
    if (before !== undefined) this.#byEmail.delete(before.email.toLowerCase())
    this.#users.set(user.id, user)
    this.#byEmail.set(user.email.toLowerCase(), user.id)
  }

  remove(id: UserId): void {
    const before = this.#users.get(id)
    if (before === undefined) return
    this.#users.delete(id)
    this.#byEmail.delete(before.email.toLowerCase())
  }

  #hasAdminBeside({ id }: User): boolean {
    for (const user of this.#users.values()) if (user.id !== id && isEnabledAdmin(user)) return true
    return false
  }
}

const isEnabledAdmin = ({ role, disabled }: User) => role === 'admin' && !disabled
