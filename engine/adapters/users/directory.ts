// Users and API keys in memory, indexed by id and e-mail, and the invariants that hold for them. They are few enough
// to be held completely.
import { UserId } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { unreachable } from '../../domain/unreachable.ts'
import { LIMITS } from '../../limits.ts'
import type {
  AddUserResult,
  ApiKey,
  EditUserResult,
  ProvisioningKey,
  RefreshGrant,
  SavedView,
  User,
  UserListener,
} from '../../ports/users.ts'
import { Grants } from './grants.ts'

/** A change without a value is a removal. */
export type UserChange =
  | { readonly kind: 'user'; readonly key: string; readonly value?: User }
  | { readonly kind: 'grant'; readonly key: string; readonly value?: RefreshGrant }
  | { readonly kind: 'api_key'; readonly key: string; readonly value?: ApiKey }
  | { readonly kind: 'provisioning_key'; readonly key: string; readonly value?: ProvisioningKey }
  | { readonly kind: 'view'; readonly key: string; readonly value?: SavedView }
  | { readonly kind: 'preferences'; readonly key: string; readonly value?: JsonObject }

export class Directory {
  readonly grants = new Grants()
  readonly keys = new Map<UserId, ApiKey>()
  readonly provisioningKeys = new Map<UserId, ProvisioningKey>()
  readonly views = new Map<string, SavedView>()
  readonly preferences = new Map<UserId, JsonObject>()
  readonly #users = new Map<UserId, User>()
  readonly #byEmail = new Map<string, UserId>()
  readonly #listeners = new Set<UserListener>()

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

  checkAdd(user: User, onlyIfNone: boolean): AddUserResult {
    if (onlyIfNone && this.#users.size > 0) return 'not_the_first'
    if (this.getByEmail(user.email) !== undefined) return 'email_taken'
    return this.#users.size >= LIMITS.usersMax ? 'full' : 'added'
  }

  /** Undefined for a removal. */
  checkEdit(before: User, after: User | undefined): EditUserResult {
    const owner = after && this.getByEmail(after.email)
    if (owner !== undefined && owner.id !== before.id) return { kind: 'kept', why: 'email_taken' }
    if (isEnabledAdmin(before) && !(after && isEnabledAdmin(after)) && !this.#hasOtherAdmin(before))
      return { kind: 'kept', why: 'last_admin' }
    return { kind: 'edited', user: after ?? before }
  }

  onChange(listener: UserListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  apply(changes: readonly UserChange[]): void {
    const changed = new Set<UserId>()
    for (const change of changes) {
      // The owner of a grant can be found only while the grant is still there.
      const id = this.#userOf(change)
      if (id !== undefined) changed.add(id)
      this.#apply(change)
    }
    for (const listener of this.#listeners) listener(changed)
  }

  #userOf(change: UserChange): UserId | undefined {
    if (NO_RIGHTS.has(change.kind)) return undefined
    if (change.kind !== 'grant') return UserId(change.key)
    return (change.value ?? this.grants.get(change.key))?.userId
  }

  #apply(change: UserChange): void {
    switch (change.kind) {
      case 'user':
        if (change.value === undefined) this.#remove(UserId(change.key))
        else this.#put(change.value)
        return
      case 'grant':
        if (change.value === undefined) this.grants.drop([change.key])
        else this.grants.put(change.value)
        return
      case 'api_key':
        if (change.value === undefined) this.keys.delete(UserId(change.key))
        else this.keys.set(change.value.id, change.value)
        return
      case 'provisioning_key':
        if (change.value === undefined) this.provisioningKeys.delete(UserId(change.key))
        else this.provisioningKeys.set(change.value.id, change.value)
        return
      case 'view':
        if (change.value === undefined) this.views.delete(change.key)
        else this.views.set(change.key, change.value)
        return
      case 'preferences':
        if (change.value === undefined) this.preferences.delete(UserId(change.key))
        else this.preferences.set(UserId(change.key), change.value)
        return
      default:
        unreachable(change)
    }
  }

  #put(user: User): void {
    this.#freeEmail(user.id)
    this.#users.set(user.id, user)
    this.#byEmail.set(user.email.toLowerCase(), user.id)
  }

  #remove(id: UserId): void {
    this.#freeEmail(id)
    this.#users.delete(id)
  }

  #freeEmail(id: UserId): void {
    const email = this.#users.get(id)?.email.toLowerCase()
    // Another user may have taken over the e-mail: reloaded entries arrive in any order.
    if (email !== undefined && this.#byEmail.get(email) === id) this.#byEmail.delete(email)
  }

  #hasOtherAdmin({ id }: User): boolean {
    for (const user of this.#users.values()) if (user.id !== id && isEnabledAdmin(user)) return true
    return false
  }
}

/** Changes of these kinds affect the rights of nobody. */
const NO_RIGHTS: ReadonlySet<UserChange['kind']> = new Set(['provisioning_key', 'view', 'preferences'])
const isEnabledAdmin = ({ role, disabled }: User) => role === 'admin' && !disabled
