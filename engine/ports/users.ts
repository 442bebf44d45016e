// Who may use the API: people, their logins, and the keys of services. Of passwords, refresh tokens and keys only
// hashes are kept.
//
// A change gets the record as it is when its turn comes, with nothing written in between: what it checks still holds
// when it is durable. It is synchronous; the record it was given, handed back, means that nothing is written. Where
// several processes share the users, it may be called again with a newer record: the last call counts.
import type { DeviceId, Millis, UserId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Role } from '../../schemas/vocabulary.ts'

export interface User {
  readonly id: UserId
  /** Lower case: e-mail addresses are compared without regard to case. */
  readonly email: string
  readonly name: string
  readonly role: Role
  /** Group subtrees the user is limited to; empty is everything. */
  readonly groups: readonly string[]
  readonly passwordHash: string
  readonly disabled: boolean
  readonly createdAt: Millis
  readonly lastLoginAt: Millis | undefined
  /** Access tokens and logins from before this instant are void. */
  readonly tokensValidFrom: Millis
}

/** A refresh token of a login. All tokens that follow from one login are a family. */
export interface RefreshGrant {
  /** SHA-256. */
  readonly tokenHash: string
  readonly userId: UserId
  readonly family: string
  /** Time of the login. Tokens that follow from it keep it. */
  readonly createdAt: Millis
  readonly usedAt: Millis
  readonly expiresAt: Millis
  /** Set once another token took its place; the seed makes that token from this one. */
  readonly replaced?: { readonly at: Millis; readonly seed: string } | undefined
  /** Set for a browser, which has its token in a cookie. A remembered one outlives the browser's window. */
  readonly browser?: { readonly isRemembered: boolean } | undefined
  /** Where the token was last used. Undefined for logins of former releases. */
  readonly from?: LoginOrigin | undefined
}

export interface LoginOrigin {
  readonly ip: string
  /** What the program calls itself. */
  readonly userAgent: string | undefined
}

/** A service presents its API key instead of a login. */
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

/** A device presents a provisioning key to be registered. */
export interface ProvisioningKey {
  readonly id: UserId
  readonly name: string
  /** SHA-256. */
  readonly secretHash: string
  /** Type and group of the devices that it registers. */
  readonly deviceType: string
  readonly group: string | undefined
  /** A glob that the ids of its devices match. Undefined: any id. */
  readonly idPattern: string | undefined
  /** An admin approves each device. */
  readonly needsApproval: boolean
  readonly devicesMax: number
  /** Places that are taken, those of open claims included. */
  readonly taken: number
  /** The places of devices that are not registered yet, or were a moment ago. Oldest first. */
  readonly claims: readonly ProvisioningClaim[]
  readonly createdAt: Millis
  readonly createdBy: UserId
  readonly expiresAt: Millis
}

/** A place of a provisioning key that a device has taken. */
export interface ProvisioningClaim {
  readonly deviceId: DeviceId
  readonly status: 'pending' | 'approved'
  readonly at: Millis
  /** Where the device asked from. */
  readonly ip: string
}

/** An address of the dashboard that a user has named. */
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
  /** `last_admin`: afterwards no enabled admin would be left. */
  | { readonly kind: 'kept'; readonly why: 'unknown' | 'email_taken' | 'last_admin' }

/** Everything but logins. */
export interface AllUsers {
  readonly users: readonly User[]
  readonly keys: readonly ApiKey[]
  /** Undefined: those that are there stay. */
  readonly provisioningKeys?: readonly ProvisioningKey[] | undefined
}

/** Durable when resolved. */
export interface Users {
  /** Tells the listener which users' account, key or logins changed, by this process or another one, as soon as `get` and
   *  the like answer with the change. Returns what stops it. The listener must not throw. */
  onChange(listener: UserListener): () => void
  /** False while writes of other processes may be missing here. */
  isUp(): boolean
  /** Resolves once all is here that any process wrote before the call: others see it a moment later. Changes of records
   *  begin with it by themselves. */
  catchUp(): Promise<void>
  /** Undefined if this process knew a moment ago of all that others had written. Otherwise resolves once it has caught up;
   *  after a second in any case. */
  freshen(): Promise<void> | undefined
  get(id: UserId): User | undefined
  getByEmail(email: string): User | undefined
  count(): number
  list(): readonly User[]
  add(user: User, options?: { readonly onlyIfNone?: boolean }): Promise<AddUserResult>
  edit(id: UserId, change: (user: User) => User): Promise<EditUserResult>
  /** Removes the user's logins, preferences and views that are not shared, too. */
  remove(id: UserId): Promise<EditUserResult>

  getGrant(tokenHash: string): RefreshGrant | undefined
  /** All grants of the user's logins, the replaced and the expired ones included. */
  grantsOf(userId: UserId): readonly RefreshGrant[]
  /** Whether anything is left of a login. */
  hasFamily(family: string): boolean
  /** The user's expired grants go, and the longest unused ones beyond the bound. */
  putGrant(grant: RefreshGrant): Promise<void>
  /** Hands back what the grant is now; undefined if there is none. A successor is written with it. */
  editGrant(
    tokenHash: string,
    change: (grant: RefreshGrant) => { readonly grant: RefreshGrant; readonly successor?: RefreshGrant },
  ): Promise<RefreshGrant | undefined>
  dropFamily(family: string): Promise<void>

  getKey(id: UserId): ApiKey | undefined
  listKeys(): readonly ApiKey[]
  addKey(key: ApiKey): Promise<'added' | 'full'>
  editKey(id: UserId, change: (key: ApiKey) => ApiKey): Promise<void>
  /** Whether there was one. */
  removeKey(id: UserId): Promise<boolean>

  getProvisioningKey(id: UserId): ProvisioningKey | undefined
  listProvisioningKeys(): readonly ProvisioningKey[]
  addProvisioningKey(key: ProvisioningKey): Promise<'added' | 'full'>
  /** Hands back what the key is now; undefined if there is none. */
  editProvisioningKey(
    id: UserId,
    change: (key: ProvisioningKey) => ProvisioningKey,
  ): Promise<ProvisioningKey | undefined>
  /** Whether there was one. */
  removeProvisioningKey(id: UserId): Promise<boolean>

  getView(id: string): SavedView | undefined
  listViews(): readonly SavedView[]
  addView(view: SavedView): Promise<'added' | 'full'>
  /** Hands back what the view is now; undefined if there is none. */
  editView(id: string, change: (view: SavedView) => SavedView): Promise<SavedView | undefined>
  /** Whether there was one. */
  removeView(id: string): Promise<boolean>
  getPreferences(id: UserId): JsonObject | undefined
  putPreferences(id: UserId, preferences: JsonObject): Promise<'put' | 'full'>

  /** Replaces all users and keys and ends all logins, all or nothing. `not_empty` is judged by users and API keys. */
  replaceAll(
    all: AllUsers,
    options?: { readonly onlyIfNone?: boolean },
  ): Promise<'replaced' | 'not_empty' | 'full'>
}
