// Who may use the API: people, their logins, and the keys of services. Only hashes of passwords, refresh tokens and keys
// are stored.
//
// A change is a synchronous function of the current record. No other write comes between, so what the change has checked
// still holds when it is durable. If it returns the record it was given, nothing is written. Where several processes
// share the users, it may be called again with a newer record; the last call counts.
import type { DeviceId, Millis, UserId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Role } from '../../schemas/vocabulary.ts'

export interface User {
  readonly id: UserId
  /** Lower case, because e-mail addresses are compared case-insensitively. */
  readonly email: string
  readonly name: string
  readonly role: Role
  /** Group subtrees that the user is limited to; empty means no limit. */
  readonly groups: readonly string[]
  readonly passwordHash: string
  readonly disabled: boolean
  readonly createdAt: Millis
  readonly lastLoginAt: Millis | undefined
  /** Access tokens and logins from before this instant are void. */
  readonly tokensValidFrom: Millis
}

/** A refresh token of a login. All tokens that descend from one login form a family. */
export interface RefreshGrant {
  /** SHA-256. */
  readonly tokenHash: string
  readonly userId: UserId
  readonly family: string
  /** Time of the login, kept by all tokens of the family. */
  readonly createdAt: Millis
  readonly usedAt: Millis
  readonly expiresAt: Millis
  /** Set once this token was replaced. The seed derives the successor from this token. */
  readonly replaced?: { readonly at: Millis; readonly seed: string } | undefined
  /** Set if the token is in a browser's cookie. If remembered, the login outlives the browser window. */
  readonly browser?: { readonly isRemembered: boolean } | undefined
  /** Where the token was last used. Undefined for logins of former releases. */
  readonly from?: LoginOrigin | undefined
}

export interface LoginOrigin {
  readonly ip: string
  /** The program's name for itself. */
  readonly userAgent: string | undefined
}

/** An API key, which a service presents instead of logging in. */
export interface ApiKey {
  readonly id: UserId
  readonly name: string
  readonly role: Role
  readonly groups: readonly string[]
  /** SHA-256. */
  readonly secretHash: string
  readonly createdAt: Millis
  readonly createdBy: UserId
  /** Undefined if the key does not expire. */
  readonly expiresAt: Millis | undefined
  readonly lastUsedAt: Millis | undefined
}

/** A key with which devices register themselves. */
export interface ProvisioningKey {
  readonly id: UserId
  readonly name: string
  /** SHA-256. */
  readonly secretHash: string
  /** Type and group of the devices that it registers. */
  readonly deviceType: string
  readonly group: string | undefined
  /** A glob that the ids of registering devices must match. Undefined means any id. */
  readonly idPattern: string | undefined
  /** Whether an admin must approve each device. */
  readonly needsApproval: boolean
  readonly devicesMax: number
  /** Places that are taken, including those of open claims. */
  readonly taken: number
  /** Claims of devices that are not registered yet, or were registered a moment ago, oldest first. */
  readonly claims: readonly ProvisioningClaim[]
  readonly createdAt: Millis
  readonly createdBy: UserId
  readonly expiresAt: Millis
}

/** A place under a provisioning key, taken by one device. */
export interface ProvisioningClaim {
  readonly deviceId: DeviceId
  readonly status: 'pending' | 'approved'
  readonly at: Millis
  /** Address from which the device asked. */
  readonly ip: string
}

/** A page of the dashboard that a user saved under a name. */
export interface SavedView {
  readonly id: string
  readonly owner: UserId
  readonly name: string
  readonly path: string
  readonly query: string
  readonly isShared: boolean
  readonly createdAt: Millis
  readonly updatedAt: Millis
  /** Counts the changes. */
  readonly revision: number
}

export type UserListener = (changed: ReadonlySet<UserId>) => void

/** `full`: the maximum number is reached. */
export type AddUserResult = 'added' | 'email_taken' | 'not_the_first' | 'full'
export type EditUserResult =
  | { readonly kind: 'edited'; readonly user: User }
  /** `last_admin`: the change would leave no enabled admin. */
  | { readonly kind: 'kept'; readonly why: 'unknown' | 'email_taken' | 'last_admin' }

/** Everything but logins. */
export interface AllUsers {
  readonly users: readonly User[]
  readonly keys: readonly ApiKey[]
  /** Undefined leaves the existing keys in place. */
  readonly provisioningKeys?: readonly ProvisioningKey[] | undefined
}

/** Changes are durable when resolved. */
export interface Users {
  /** Reports the users whose account, key or logins were changed, by this process or another one, as soon as `get` and
   *  similar methods return the change. Returns a function that stops it. The listener must not throw. */
  onChange(listener: UserListener): () => void
  /** False while writes of other processes may not be visible here. */
  isUp(): boolean
  /** Resolves once everything is visible here that any process wrote before the call. Changes of records call it
   *  themselves. */
  catchUp(): Promise<void>
  /** Undefined if this process was up to date with the writes of others a moment ago. Otherwise resolves once it has
   *  caught up, or after a second at the latest. */
  freshen(): Promise<void> | undefined
  get(id: UserId): User | undefined
  getByEmail(email: string): User | undefined
  count(): number
  list(): readonly User[]
  add(user: User, options?: { readonly onlyIfNone?: boolean }): Promise<AddUserResult>
  edit(id: UserId, change: (user: User) => User): Promise<EditUserResult>
  /** Also removes the user's logins, preferences and unshared views. */
  remove(id: UserId): Promise<EditUserResult>

  getGrant(tokenHash: string): RefreshGrant | undefined
  /** All grants of the user's logins, including replaced and expired ones. */
  grantsOf(userId: UserId): readonly RefreshGrant[]
  /** Whether a login still has any grant. */
  hasFamily(family: string): boolean
  /** Also removes the user's expired grants, and beyond the limit those unused for longest. */
  putGrant(grant: RefreshGrant): Promise<void>
  /** Returns the grant after the change; undefined if there is none. A successor is written together with it. */
  editGrant(
    tokenHash: string,
    change: (grant: RefreshGrant) => { readonly grant: RefreshGrant; readonly successor?: RefreshGrant },
  ): Promise<RefreshGrant | undefined>
  dropFamily(family: string): Promise<void>

  getKey(id: UserId): ApiKey | undefined
  listKeys(): readonly ApiKey[]
  /** Replaces a key with the same id. */
  addKey(key: ApiKey): Promise<'added' | 'full'>
  editKey(id: UserId, change: (key: ApiKey) => ApiKey): Promise<void>
  /** Resolves with whether the key existed. */
  removeKey(id: UserId): Promise<boolean>

  getProvisioningKey(id: UserId): ProvisioningKey | undefined
  listProvisioningKeys(): readonly ProvisioningKey[]
  /** Replaces a key with the same id. */
  addProvisioningKey(key: ProvisioningKey): Promise<'added' | 'full'>
  /** Returns the key after the change; undefined if there is none. */
  editProvisioningKey(
    id: UserId,
    change: (key: ProvisioningKey) => ProvisioningKey,
  ): Promise<ProvisioningKey | undefined>
  /** Resolves with whether the key existed. */
  removeProvisioningKey(id: UserId): Promise<boolean>

  getView(id: string): SavedView | undefined
  listViews(): readonly SavedView[]
  addView(view: SavedView): Promise<'added' | 'full'>
  /** Returns the view after the change; undefined if there is none. */
  editView(id: string, change: (view: SavedView) => SavedView): Promise<SavedView | undefined>
  /** Resolves with whether the view existed. */
  removeView(id: string): Promise<boolean>
  getPreferences(id: UserId): JsonObject | undefined
  putPreferences(id: UserId, preferences: JsonObject): Promise<'put' | 'full'>

  /** Replaces all users and keys and ends all logins, all or nothing. `not_empty` considers users and API keys only. */
  replaceAll(
    all: AllUsers,
    options?: { readonly onlyIfNone?: boolean },
  ): Promise<'replaced' | 'not_empty' | 'full'>
}
