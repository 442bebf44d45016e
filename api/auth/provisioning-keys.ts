// Provisioning keys: `flp_<id>_<secret>`. Only the SHA-256 is stored.
import { LIMITS } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import type { ProvisioningKey, Users } from '../../engine/ports/users.ts'
import { UserId } from '../../schemas/ids.ts'
import type { Ids } from '../ids.ts'
import { type Refusal, refused } from '../refusal.ts'
import { newSecret, readKey } from './key-secret.ts'

export interface ProvisioningKeys {
  create(
    about: Pick<
      ProvisioningKey,
      'name' | 'deviceType' | 'group' | 'idPattern' | 'needsApproval' | 'devicesMax' | 'expiresAt'
    >,
    by: UserId,
  ): Promise<{ readonly kind: 'created'; readonly key: ProvisioningKey; readonly text: string } | Refusal>
  /** Finds the record of a key, expired or not. */
  find(text: string): Promise<ProvisioningKey | undefined>
}

const SORT = { prefix: 'flp_', idPrefix: 'prk_' } as const

export const isProvisioningKey = (text: string): boolean => text.startsWith(SORT.prefix)

export function createProvisioningKeys({
  users,
  ids,
  clock,
}: {
  readonly users: Pick<Users, 'getProvisioningKey' | 'addProvisioningKey' | 'catchUp'>
  readonly ids: Ids
  readonly clock: Clock
}): ProvisioningKeys {
  const known = (text: string) => {
    const shown = readKey(SORT, text)
    const key = shown && users.getProvisioningKey(UserId(shown.id))
    return key !== undefined && shown?.isOf(key.secretHash) === true ? key : undefined
  }
  return {
    async create(about, by) {
      const id = ids.next(SORT.idPrefix)
      const { text, hash } = newSecret(SORT, id)
      const key: ProvisioningKey = {
        ...about,
        id: UserId(id),
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
      const key = known(text)
      if (key !== undefined || readKey(SORT, text) === undefined) return key
      // Another node may just have created the key.
      await users.catchUp()
      return known(text)
    },
  }
}
