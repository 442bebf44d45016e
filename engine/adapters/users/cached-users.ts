// All users in memory, on top of any storage.
//
// - Memory changes only after the write. Steps run one after another, so that what a step has checked still holds when
//   its write is durable. If another process has overtaken a step, the step is repeated on the new state.
import type { UserId } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { SerialQueue } from '../../../schemas/serial-queue.ts'
import { LIMITS } from '../../limits.ts'
import type {
  AddUserResult,
  AllUsers,
  ApiKey,
  EditUserResult,
  ProvisioningKey,
  RefreshGrant,
  SavedView,
  User,
  UserListener,
  Users,
} from '../../ports/users.ts'
import type { Directory, UserChange } from './directory.ts'

/** Writes atomically. When it resolves, the write is durable and applied to the directory. `overtaken` means that
 *  nothing was written, and that the directory now has what another process wrote instead. */
export type WriteUsers = (changes: readonly UserChange[]) => Promise<'written' | 'overtaken'>

/** What this process needs to know of the writes of other processes. */
type ReplicaSync = Pick<Users, 'isUp' | 'catchUp' | 'freshen'>
const SINGLE_PROCESS: ReplicaSync = { isUp: () => true, catchUp: async () => {}, freshen: () => undefined }

class OvertakenEdit extends Error {}

export class CachedUsers implements Users {
  readonly #directory: Directory
  readonly #writeUsers: WriteUsers
  readonly #sync: ReplicaSync
  readonly #steps = new SerialQueue()

  constructor(directory: Directory, write: WriteUsers, sync: ReplicaSync = SINGLE_PROCESS) {
    this.#directory = directory
    this.#writeUsers = write
    this.#sync = sync
  }

  onChange(listener: UserListener): () => void {
    return this.#directory.onChange(listener)
  }

  isUp(): boolean {
    return this.#sync.isUp()
  }

  catchUp(): Promise<void> {
    return this.#sync.catchUp()
  }

  freshen(): Promise<void> | undefined {
    return this.#sync.freshen()
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

  add(user: User, { onlyIfNone = false } = {}): Promise<AddUserResult> {
    return this.#runExclusive(async () => {
      const added = this.#directory.checkAdd(user, onlyIfNone)
      if (added !== 'added') return added
      await this.#write([{ kind: 'user', key: user.id, value: user }])
      return added
    })
  }

  edit(id: UserId, change: (user: User) => User): Promise<EditUserResult> {
    return this.#runExclusive(async () => {
      const before = this.get(id)
      if (before === undefined) return UNKNOWN
      const edited = this.#directory.checkEdit(before, change(before))
      if (edited.kind === 'kept' || edited.user === before) return edited
      await this.#write([{ kind: 'user', key: id, value: edited.user }])
      return edited
    })
  }

  remove(id: UserId): Promise<EditUserResult> {
    return this.#runExclusive(async () => {
      const before = this.get(id)
      if (before === undefined) return UNKNOWN
      const edited = this.#directory.checkEdit(before, undefined)
      if (edited.kind === 'kept') return edited
      const hashes = this.#directory.grants.hashesOf({ userId: id })
      const owned = this.#removalsOwnedBy((owner) => owner === id)
      await this.#write([{ kind: 'user', key: id }, ...grantRemovals(hashes), ...owned])
      return edited
    })
  }

  getGrant(tokenHash: string): RefreshGrant | undefined {
    return this.#directory.grants.get(tokenHash)
  }

  grantsOf(userId: UserId): readonly RefreshGrant[] {
    const { grants } = this.#directory
    return grants.hashesOf({ userId }).flatMap((hash) => grants.get(hash) ?? [])
  }

  hasFamily(family: string): boolean {
    return this.#directory.grants.hasFamily(family)
  }

  putGrant(grant: RefreshGrant): Promise<void> {
    return this.#runExclusive(() => this.#putGrants([grant], grant))
  }

  editGrant(
    tokenHash: string,
    change: (grant: RefreshGrant) => { readonly grant: RefreshGrant; readonly successor?: RefreshGrant },
  ): Promise<RefreshGrant | undefined> {
    return this.#runExclusive(async () => {
      const before = this.getGrant(tokenHash)
      if (before === undefined) return undefined
      const { grant, successor } = change(before)
      if (successor !== undefined) await this.#putGrants([grant, successor], successor)
      else if (grant !== before) await this.#putGrants([grant], grant)
      return grant
    })
  }

  dropFamily(family: string): Promise<void> {
    return this.#runExclusive(() => this.#write(grantRemovals(this.#directory.grants.hashesOf({ family }))))
  }

  getKey(id: UserId): ApiKey | undefined {
    return this.#directory.keys.get(id)
  }

  listKeys(): readonly ApiKey[] {
    return [...this.#directory.keys.values()]
  }

  addKey(key: ApiKey): Promise<'added' | 'full'> {
    return this.#runExclusive(async () => {
      const isNew = this.getKey(key.id) === undefined
      if (isNew && this.#directory.keys.size >= LIMITS.apiKeysMax) return 'full'
      await this.#putKey(key)
      return 'added'
    })
  }

  editKey(id: UserId, change: (key: ApiKey) => ApiKey): Promise<void> {
    return this.#runExclusive(async () => {
      const before = this.getKey(id)
      const after = before && change(before)
      if (after !== undefined && after !== before) await this.#putKey(after)
    })
  }

  removeKey(id: UserId): Promise<boolean> {
    return this.#runExclusive(async () => {
      if (this.getKey(id) === undefined) return false
      await this.#write([{ kind: 'api_key', key: id }])
      return true
    })
  }

  getProvisioningKey(id: UserId): ProvisioningKey | undefined {
    return this.#directory.provisioningKeys.get(id)
  }

  listProvisioningKeys(): readonly ProvisioningKey[] {
    return [...this.#directory.provisioningKeys.values()]
  }

  addProvisioningKey(key: ProvisioningKey): Promise<'added' | 'full'> {
    return this.#runExclusive(async () => {
      const isNew = this.getProvisioningKey(key.id) === undefined
      if (isNew && this.#directory.provisioningKeys.size >= LIMITS.provisioningKeysMax) return 'full'
      await this.#write([{ kind: 'provisioning_key', key: key.id, value: key }])
      return 'added'
    })
  }

  editProvisioningKey(
    id: UserId,
    change: (key: ProvisioningKey) => ProvisioningKey,
  ): Promise<ProvisioningKey | undefined> {
    return this.#runExclusive(async () => {
      const before = this.getProvisioningKey(id)
      const after = before && change(before)
      if (after !== undefined && after !== before)
        await this.#write([{ kind: 'provisioning_key', key: id, value: after }])
      return after
    })
  }

  removeProvisioningKey(id: UserId): Promise<boolean> {
    return this.#runExclusive(async () => {
      if (this.getProvisioningKey(id) === undefined) return false
      await this.#write([{ kind: 'provisioning_key', key: id }])
      return true
    })
  }

  getView(id: string): SavedView | undefined {
    return this.#directory.views.get(id)
  }

  listViews(): readonly SavedView[] {
    return [...this.#directory.views.values()]
  }

  addView(view: SavedView): Promise<'added' | 'full'> {
    return this.#runExclusive(async () => {
      const own = this.listViews().filter(({ owner }) => owner === view.owner)
      if (own.length >= LIMITS.viewsPerUserMax || this.#directory.views.size >= LIMITS.viewsMax) return 'full'
      await this.#write([{ kind: 'view', key: view.id, value: view }])
      return 'added'
    })
  }

  editView(id: string, change: (view: SavedView) => SavedView): Promise<SavedView | undefined> {
    return this.#runExclusive(async () => {
      const before = this.getView(id)
      const after = before && change(before)
      if (after !== undefined && after !== before)
        await this.#write([{ kind: 'view', key: id, value: after }])
      return after
    })
  }

  removeView(id: string): Promise<boolean> {
    return this.#runExclusive(async () => {
      if (this.getView(id) === undefined) return false
      await this.#write([{ kind: 'view', key: id }])
      return true
    })
  }

  getPreferences(id: UserId): JsonObject | undefined {
    return this.#directory.preferences.get(id)
  }

  putPreferences(id: UserId, preferences: JsonObject): Promise<'put' | 'full'> {
    return this.#runExclusive(async () => {
      const { size } = this.#directory.preferences
      if (this.getPreferences(id) === undefined && size >= LIMITS.preferencesMax) return 'full'
      await this.#write([{ kind: 'preferences', key: id, value: preferences }])
      return 'put'
    })
  }

  replaceAll(
    { users, keys, provisioningKeys = this.listProvisioningKeys() }: AllUsers,
    { onlyIfNone = false } = {},
  ): Promise<'replaced' | 'not_empty' | 'full'> {
    return this.#runExclusive(async () => {
      if (onlyIfNone && (this.count() > 0 || this.listKeys().length > 0)) return 'not_empty'
      if (users.length > LIMITS.usersMax || keys.length > LIMITS.apiKeysMax) return 'full'
      if (provisioningKeys.length > LIMITS.provisioningKeysMax) return 'full'
      const kept = new Set([...users, ...keys, ...provisioningKeys].map(({ id }) => id))
      const isRemoved = ({ id }: { readonly id: UserId }) => !kept.has(id)
      await this.#write([
        ...grantRemovals(this.#directory.grants.hashes()),
        ...this.#removalsOwnedBy((owner) => !kept.has(owner)),
        ...this.list()
          .filter(isRemoved)
          .map(({ id }) => ({ kind: 'user', key: id }) as const),
        ...this.listKeys()
          .filter(isRemoved)
          .map(({ id }) => ({ kind: 'api_key', key: id }) as const),
        ...this.listProvisioningKeys()
          .filter(isRemoved)
          .map(({ id }) => ({ kind: 'provisioning_key', key: id }) as const),
        ...users.map((value) => ({ kind: 'user', key: value.id, value }) as const),
        ...keys.map((value) => ({ kind: 'api_key', key: value.id, value }) as const),
        ...provisioningKeys.map((value) => ({ kind: 'provisioning_key', key: value.id, value }) as const),
      ])
      return 'replaced'
    })
  }

  #runExclusive<T>(step: () => Promise<T>): Promise<T> {
    return this.#steps.run(async () => {
      // Otherwise a step that writes nothing would be decided on an outdated state.
      await this.#sync.catchUp()
      return await retryIfOvertaken(step)
    })
  }

  async #write(changes: readonly UserChange[]): Promise<void> {
    if ((await this.#writeUsers(changes)) === 'overtaken') throw new OvertakenEdit()
  }

  async #putGrants(grants: readonly RefreshGrant[], newest: RefreshGrant): Promise<void> {
    const written = new Set(grants.map(({ tokenHash }) => tokenHash))
    const obsolete = this.#directory.grants.obsolete(newest).filter((hash) => !written.has(hash))
    const puts = grants.map((value) => ({ kind: 'grant', key: value.tokenHash, value }) as const)
    await this.#write([...grantRemovals(obsolete), ...puts])
  }

  /** Removals of what belongs to these users. A shared view stays, because others use it. */
  #removalsOwnedBy(isRemoved: (owner: UserId) => boolean): readonly UserChange[] {
    const views = this.listViews().filter(({ owner, isShared }) => !isShared && isRemoved(owner))
    const owners = [...this.#directory.preferences.keys()].filter(isRemoved)
    return [
      ...views.map(({ id }) => ({ kind: 'view', key: id }) as const),
      ...owners.map((key) => ({ kind: 'preferences', key }) as const),
    ]
  }

  async #putKey(key: ApiKey): Promise<void> {
    await this.#write([{ kind: 'api_key', key: key.id, value: key }])
  }
}

async function retryIfOvertaken<T>(step: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await step()
    } catch (error) {
      // Another process made progress, so this loop ends.
      if (!(error instanceof OvertakenEdit)) throw error
    }
  }
}

const UNKNOWN = { kind: 'kept', why: 'unknown' } as const

function grantRemovals(hashes: readonly string[]): readonly UserChange[] {
  return hashes.map((key) => ({ kind: 'grant', key }))
}
