// API keys of services: `flk_<id>_<secret>`. Only the SHA-256 is stored. A key has a role and groups like a user.
import { LIMITS } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { ApiKey, Users } from '../../engine/ports/users.ts'
import { type Millis, UserId } from '../../schemas/ids.ts'
import type { Ids } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import type { Caller } from './caller.ts'
import { newKeyId, newSecret, parseKey } from './key-secret.ts'

export interface ApiKeys {
  /** `wantedId`: see `newKeyId`. */
  create(
    about: Pick<ApiKey, 'name' | 'role' | 'groups' | 'expiresAt'>,
    by: UserId,
    wantedId?: string,
  ): Promise<{ readonly kind: 'created'; readonly key: ApiKey; readonly token: string } | Refusal>
  /** Resolves with false if there is no such key. The key's open sockets are closed at once. */
  remove(id: UserId): Promise<boolean>
  /** Finds the service of a key, expired or not, and notes that the key was used. */
  find(
    token: string,
  ): { readonly expiresAt: Millis | undefined; readonly current: () => Caller | undefined } | undefined
}

export const API_KEY_FORMAT = { prefix: 'flk_', idPrefix: 'key_' } as const

export const isApiKey = (token: string): boolean => token.startsWith(API_KEY_FORMAT.prefix)

export function createApiKeys({
  users,
  ids,
  clock,
}: {
  readonly users: Pick<Users, 'getKey' | 'addKey' | 'editKey' | 'removeKey'>
  readonly ids: Ids
  readonly clock: Clock
}): ApiKeys {
  /** Keys whose use is being written. While the store is slow, each request would otherwise add another write. */
  const noting = new Set<UserId>()

  /** Not awaited. If the store fails, the key still works, and its next use tries to write again. */
  function noteUse({ id, lastUsedAt }: ApiKey): void {
    const now = clock.now()
    const agoMs = now - (lastUsedAt ?? 0)
    // A use in the future was noted before the clock was set back.
    if ((agoMs >= 0 && agoMs < API_LIMITS.apiKeyTouchMs) || noting.has(id)) return
    noting.add(id)
    users
      .editKey(id, (key) => ({ ...key, lastUsedAt: now }))
      .catch(() => undefined)
      .finally(() => noting.delete(id))
  }

  return {
    async create(about, by, wantedId) {
      const id = newKeyId(wantedId, API_KEY_FORMAT, {
        ids,
        clock,
        find: (known) => users.getKey(known),
        isUsed: ({ lastUsedAt }) => lastUsedAt !== undefined,
      })
      const { text, hash } = newSecret(API_KEY_FORMAT, id)
      const key: ApiKey = {
        ...about,
        id,
        secretHash: hash,
        createdAt: clock.now(),
        createdBy: by,
        lastUsedAt: undefined,
      }
      if ((await users.addKey(key)) === 'full')
        return refused('LIMIT_REACHED', {
          message: `there are ${LIMITS.apiKeysMax} API keys; delete those that are not used`,
          limit: LIMITS.apiKeysMax,
        })
      return { kind: 'created', key, token: text }
    },

    remove: (id) => users.removeKey(id),

    find(token) {
      const presented = parseKey(API_KEY_FORMAT, token)
      const id = UserId(presented?.id ?? '')
      const key = users.getKey(id)
      if (key === undefined || presented?.matches(key.secretHash) !== true) return undefined
      noteUse(key)
      return { expiresAt: key.expiresAt, current: () => toCaller(users.getKey(id)) }
    },
  }
}

function toCaller(key: ApiKey | undefined): Caller | undefined {
  if (key === undefined) return undefined
  const { id, name, role, groups, createdAt } = key
  return { id, name, role, groups, createdAt, email: undefined, lastLoginAt: undefined }
}
