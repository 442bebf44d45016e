// Provisioning keys: `flp_<id>_<secret>`. Only the SHA-256 is stored.
import { LIMITS } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { ProvisioningKey, Users } from '../../engine/ports/users.ts'
import { UserId } from '../../schemas/ids.ts'
import type { Ids } from '../ids.ts'
import { type Refusal, refused } from '../refusal.ts'
import { newKeyId, newSecret, parseKey } from './key-secret.ts'

export interface ProvisioningKeys {
  /** `wantedId`: see `newKeyId`. */
  create(
    about: Pick<
      ProvisioningKey,
      'name' | 'deviceType' | 'group' | 'idPattern' | 'needsApproval' | 'devicesMax' | 'expiresAt'
    >,
    by: UserId,
    wantedId?: string,
  ): Promise<{ readonly kind: 'created'; readonly key: ProvisioningKey; readonly text: string } | Refusal>
  /** Finds the record of a key, expired or not. */
  find(text: string): Promise<ProvisioningKey | undefined>
}

export const PROVISIONING_KEY_FORMAT = { prefix: 'flp_', idPrefix: 'prk_' } as const

export const isProvisioningKey = (text: string): boolean => text.startsWith(PROVISIONING_KEY_FORMAT.prefix)

export function createProvisioningKeys({
  users,
  ids,
  clock,
}: {
  readonly users: Pick<Users, 'getProvisioningKey' | 'addProvisioningKey' | 'catchUp'>
  readonly ids: Ids
  readonly clock: Clock
}): ProvisioningKeys {
  const findKey = (text: string) => {
    const presented = parseKey(PROVISIONING_KEY_FORMAT, text)
    const key = presented && users.getProvisioningKey(UserId(presented.id))
    return key !== undefined && presented?.matches(key.secretHash) === true ? key : undefined
  }
  return {
    async create(about, by, wantedId) {
      const id = newKeyId(wantedId, PROVISIONING_KEY_FORMAT, {
        ids,
        clock,
        find: (known) => users.getProvisioningKey(known),
        isUsed: ({ taken }) => taken > 0,
      })
      const { text, hash } = newSecret(PROVISIONING_KEY_FORMAT, id)
      const key: ProvisioningKey = {
        ...about,
        id,
        secretHash: hash,
        taken: 0,
        claims: [],
        createdAt: clock.now(),
        createdBy: by,
      }
      if ((await users.addProvisioningKey(key)) === 'added') return { kind: 'created', key, text }
      return refused('LIMIT_REACHED', {
        message: `there are ${LIMITS.provisioningKeysMax} provisioning keys; delete those that are not used`,
        limit: LIMITS.provisioningKeysMax,
      })
    },

    async find(text) {
      const key = findKey(text)
      if (key !== undefined || parseKey(PROVISIONING_KEY_FORMAT, text) === undefined) return key
      // Another node may just have created the key.
      await users.catchUp()
      return findKey(text)
    },
  }
}
