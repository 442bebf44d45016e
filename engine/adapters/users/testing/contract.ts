// The contract of all stores of users. Each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type DeviceId, Millis, UserId } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { ApiKey, ProvisioningKey, RefreshGrant, User, Users } from '../../../ports/users.ts'

export interface UsersContract {
  readonly name: string
  open(): Promise<Users>
  /** Reopens the same users after a restart. */
  restart(users: Users): Promise<Users>
  close(users: Users): Promise<void>
}

export function user(id: string, over: Partial<User> = {}): User {
  return {
    id: UserId(id),
    email: `${id}@example.org`,
    name: `Name of ${id}`,
    role: 'operator',
    groups: ['eu', 'us/west'],
    passwordHash: '$argon2id$x',
    disabled: false,
    createdAt: Millis(1_700_000_000_000),
    lastLoginAt: undefined,
    tokensValidFrom: Millis(0),
    ...over,
  }
}

export function grant(tokenHash: string, over: Partial<RefreshGrant> = {}): RefreshGrant {
  const at = Millis(1_700_000_000_000)
  return {
    tokenHash,
    userId: UserId('u1'),
    family: 'f1',
    createdAt: at,
    usedAt: at,
    expiresAt: Millis(at + 1000),
    ...over,
  }
}

export function apiKey(id: string, over: Partial<ApiKey> = {}): ApiKey {
  return {
    id: UserId(id),
    name: `Name of ${id}`,
    role: 'operator',
    groups: ['eu'],
    secretHash: 'hash',
    createdAt: Millis(1_700_000_000_000),
    createdBy: UserId('u1'),
    expiresAt: undefined,
    lastUsedAt: undefined,
    ...over,
  }
}

export function provisioningKey(id: string, over: Partial<ProvisioningKey> = {}): ProvisioningKey {
  return {
    ...{ id: UserId(id), name: `Name of ${id}`, secretHash: 'hash', deviceType: 'mqtt_device' },
    ...{ group: 'eu', idPattern: 'a*', needsApproval: false, devicesMax: 20, taken: 0, claims: [] },
    ...{
      createdAt: Millis(1_700_000_000_000),
      createdBy: UserId('u1'),
      expiresAt: Millis(1_800_000_000_000),
    },
    ...over,
  }
}

const DEVICE = 'robot-1' as DeviceId
const U1 = UserId('u1')
const ADMIN = user('a1', { role: 'admin' })

export function usersContract({ name, open, restart, close }: UsersContract): void {
  let users: Users
  const again = async () => {
    users = await restart(users)
  }

  beforeEach(async () => {
    users = await open()
  })
  afterEach(() => close(users))

  describe(`users: ${name}: a user`, () => {
    test('a user is found by id and by e-mail in any case, also after a restart', async () => {
      expect(await users.add(user('u1'))).toBe('added')
      await again()
      expect(users.get(U1)).toEqual(user('u1'))
      expect(users.getByEmail('U1@Example.org')).toEqual(user('u1'))
      expect(users.getByEmail('u2@example.org')).toBeUndefined()
      expect([users.count(), users.list()]).toEqual([1, [user('u1')]])
    })

    test('two users cannot have the same e-mail', async () => {
      await users.add(user('u1'))
      await users.add(user('u2'))
      expect(await users.add(user('u3', { email: 'U1@example.org' }))).toBe('email_taken')
      expect(users.get(UserId('u3'))).toBeUndefined()
      const stolen = await users.edit(U1, (before) => ({ ...before, email: 'u2@example.org' }))
      expect(stolen).toEqual({ kind: 'kept', why: 'email_taken' })
      expect(users.get(U1)).toEqual(user('u1'))
    })

    test('a changed e-mail frees the old one', async () => {
      await users.add(user('u1'))
      await users.edit(U1, (before) => ({ ...before, email: 'other@example.org' }))
      await again()
      expect(users.getByEmail('u1@example.org')).toBeUndefined()
      expect(users.getByEmail('other@example.org')?.id).toBe('u1')
      expect(await users.add(user('u2', { email: 'u1@example.org' }))).toBe('added')
    })

    test('a change of a user is announced once this process answers with the new state', async () => {
      const told: string[] = []
      const tell = (what: () => unknown) =>
        users.onChange((changed) => void told.push(`${[...changed].join()} ${String(what())}`))
      const stops = [tell(() => users.get(U1)?.name), tell(() => users.hasFamily('f1'))]
      await users.add(user('u1', { name: 'A' }))
      await users.putGrant(grant('h1'))
      expect(told.splice(0)).toEqual(['u1 A', 'u1 false', 'u1 A', 'u1 true'])
      await users.dropFamily('f1')
      await users.edit(U1, (before) => ({ ...before, name: 'B' }))
      expect(told.splice(0)).toEqual(['u1 A', 'u1 false', 'u1 B', 'u1 false'])
      for (const stop of stops) stop()
      const stop = tell(() => users.listKeys().length)
      await users.addKey(apiKey('k1'))
      await users.removeKey(UserId('k1'))
      await users.remove(U1)
      expect(told.splice(0)).toEqual(['k1 1', 'k1 0', 'u1 0'])
      stop()
      await users.add(user('u2'))
      expect(told).toEqual([])
    })

    test('one of several concurrent registrations with one e-mail, or as the first user, succeeds', async () => {
      const same = ['u1', 'u2', 'u3'].map((id) => users.add(user(id, { email: 'same@example.org' })))
      expect((await Promise.all(same)).sort()).toEqual(['added', 'email_taken', 'email_taken'])
      await close(users)
      users = await open()
      const first = ['u1', 'u2', 'u3'].map((id) => users.add(user(id), { onlyIfNone: true }))
      expect((await Promise.all(first)).sort()).toEqual(['added', 'not_the_first', 'not_the_first'])
      expect(users.count()).toBe(1)
    })

    test('concurrent edits of a user do not undo each other', async () => {
      await users.add(user('u1'))
      await Promise.all([
        users.edit(U1, (before) => ({ ...before, disabled: true })),
        users.edit(U1, (before) => ({ ...before, lastLoginAt: Millis(5) })),
        users.edit(U1, (before) => ({ ...before, name: 'New' })),
      ])
      await again()
      expect(users.get(U1)).toEqual(user('u1', { disabled: true, lastLoginAt: Millis(5), name: 'New' }))
      expect(await users.edit(UserId('u2'), (before) => before)).toEqual({ kind: 'kept', why: 'unknown' })
    })

    test('a removed user is gone with all logins and the e-mail', async () => {
      await users.add(user('u1'))
      await users.putGrant(grant('a'))
      expect(await users.remove(U1)).toEqual({ kind: 'edited', user: user('u1') })
      await again()
      expect([users.get(U1), users.getGrant('a'), users.count()]).toEqual([undefined, undefined, 0])
      expect(await users.remove(U1)).toEqual({ kind: 'kept', why: 'unknown' })
      expect(await users.add(user('u2', { email: 'u1@example.org' }))).toBe('added')
    })

    test('the last enabled admin stays one', async () => {
      await users.add(ADMIN)
      await users.add(user('a2', { role: 'admin', disabled: true }))
      const last = { kind: 'kept', why: 'last_admin' }
      expect(await users.edit(ADMIN.id, (before) => ({ ...before, role: 'viewer' }))).toEqual(last)
      expect(await users.edit(ADMIN.id, (before) => ({ ...before, disabled: true }))).toEqual(last)
      expect(await users.remove(ADMIN.id)).toEqual(last)
      expect(users.get(ADMIN.id)).toEqual(ADMIN)
      expect((await users.edit(ADMIN.id, (before) => ({ ...before, name: 'New' }))).kind).toBe('edited')
    })

    test('if two admins disable each other at once, one stays', async () => {
      await users.add(ADMIN)
      await users.add(user('a2', { role: 'admin' }))
      const disable = (id: UserId) => users.edit(id, (before) => ({ ...before, disabled: true }))
      const kinds = (await Promise.all([disable(ADMIN.id), disable(UserId('a2'))])).map(({ kind }) => kind)
      expect(kinds.sort()).toEqual(['edited', 'kept'])
    })
  })

  describe(`users: ${name}: a grant`, () => {
    test('a grant is found by its hash and dropped with its family', async () => {
      await users.putGrant(grant('a'))
      await users.putGrant(grant('b', { family: 'f2' }))
      await again()
      expect(users.getGrant('a')).toEqual(grant('a'))
      const [{ userId }, stranger] = [grant('a'), UserId('usr_nobody')]
      expect(users.grantsOf(userId)).toEqual(
        expect.arrayContaining([grant('a'), grant('b', { family: 'f2' })]),
      )
      expect([users.grantsOf(userId).length, users.grantsOf(stranger).length]).toEqual([2, 0])
      await users.dropFamily('f1')
      await again()
      expect([users.getGrant('a'), users.getGrant('b')]).toEqual([undefined, grant('b', { family: 'f2' })])
      expect([users.hasFamily('f1'), users.hasFamily('f2')]).toEqual([false, true])
    })

    test('views and preferences outlive a restart', async () => {
      const [id, owner] = ['vw_1', UserId('usr_a')]
      const dates = { createdAt: Millis(1), updatedAt: Millis(1), revision: 1 }
      const view = { id, owner, name: 'x', path: '/', query: '', isShared: false, ...dates }
      expect(await users.addView(view)).toBe('added')
      expect(await users.editView(id, (before) => ({ ...before, name: 'y' }))).toEqual({ ...view, name: 'y' })
      expect(await users.putPreferences(owner, { theme: 'dark' })).toBe('put')
      await again()
      expect([users.getView(id), users.listViews()]).toEqual([
        { ...view, name: 'y' },
        [{ ...view, name: 'y' }],
      ])
      expect(users.getPreferences(owner)).toEqual({ theme: 'dark' })
      expect([await users.removeView(id), await users.removeView(id)]).toEqual([true, false])
      await again()
      expect(users.listViews()).toEqual([])
    })

    test('a dropped grant is not brought back by a concurrent edit', async () => {
      await users.putGrant(grant('a'))
      const dropped = users.dropFamily('f1')
      const edited = users.editGrant('a', (before) => ({ grant: { ...before, usedAt: Millis(9) } }))
      await dropped
      expect(await edited).toBeUndefined()
      await again()
      expect([users.getGrant('a'), users.hasFamily('f1')]).toEqual([undefined, false])
    })

    test('a grant is replaced once, together with its successor', async () => {
      await users.putGrant(grant('a'))
      const replace = (tokenHash: string) =>
        users.editGrant('a', (before) =>
          before.replaced === undefined
            ? {
                grant: { ...before, replaced: { at: before.usedAt, seed: tokenHash } },
                successor: grant(tokenHash),
              }
            : { grant: before },
        )
      const [one, other] = await Promise.all([replace('b'), replace('c')])
      await again()
      expect(other).toEqual(one)
      expect(users.getGrant('a')?.replaced?.seed).toBe('b')
      expect([users.getGrant('b'), users.getGrant('c')]).toEqual([grant('b'), undefined])
    })

    test('an expired grant is removed when its user gets a new one', async () => {
      await users.putGrant(grant('old'))
      const later = Millis(1_700_000_002_000)
      await users.putGrant(grant('new', { createdAt: later, usedAt: later, expiresAt: Millis(later + 1000) }))
      expect(users.getGrant('old')).toBeUndefined()
      expect(users.getGrant('new')).toBeDefined()
    })

    test('the grants of a user are bounded, and the longest unused go first', async () => {
      const at = 1_700_000_000_000
      for (let i = 0; i < LIMITS.grantsPerUserMax + 5; i++)
        await users.putGrant(grant(`g${i}`, { usedAt: Millis(at + i), expiresAt: Millis(at + 1e9) }))
      expect(users.getGrant('g4')).toBeUndefined()
      expect(users.getGrant('g5')).toBeDefined()
      expect(users.getGrant(`g${LIMITS.grantsPerUserMax + 4}`)).toBeDefined()
    })

    test('a replaced grant is removed before valid ones, and earlier', async () => {
      const at = 1_700_000_000_000
      const life = { expiresAt: Millis(at + 1e9) }
      await users.putGrant(grant('idle', { ...life, family: 'f2' }))
      for (let i = 0; i < LIMITS.replacedGrantsMax + 5; i++) {
        const usedAt = Millis(at + i)
        await users.putGrant(grant(`g${i}`, { ...life, usedAt, replaced: { at: usedAt, seed: '' } }))
      }
      await users.putGrant(grant('now', { ...life, usedAt: Millis(at + 1_000) }))
      const kept = ['g0', 'g4', 'g5', 'idle', 'now'].filter((hash) => users.getGrant(hash) !== undefined)
      expect(kept).toEqual(['g5', 'idle', 'now'])
    })
  })

  describe(`users: ${name}: an API key`, () => {
    const K1 = UserId('key_1')

    test('an API key is stored, edited and removed, also after a restart', async () => {
      expect(await users.addKey(apiKey('key_1'))).toBe('added')
      await users.addKey(apiKey('key_2', { expiresAt: Millis(1_800_000_000_000) }))
      await users.editKey(K1, (before) => ({ ...before, lastUsedAt: Millis(7) }))
      await again()
      expect(users.getKey(K1)).toEqual(apiKey('key_1', { lastUsedAt: Millis(7) }))
      expect(users.listKeys().map(({ id }) => id)).toEqual(['key_1', 'key_2'])
      expect(await users.removeKey(K1)).toBe(true)
      await users.editKey(K1, (before) => ({ ...before, lastUsedAt: Millis(8) }))
      await again()
      expect([users.getKey(K1), await users.removeKey(K1)]).toEqual([undefined, false])
    })

    test('the number of API keys is bounded', async () => {
      const keys = Array.from({ length: LIMITS.apiKeysMax }, (_, i) => users.addKey(apiKey(`key_${i}`)))
      expect(new Set(await Promise.all(keys))).toEqual(new Set(['added']))
      expect(await users.addKey(apiKey('one more'))).toBe('full')
      await users.removeKey(UserId('key_0'))
      expect(await users.addKey(apiKey('one more'))).toBe('added')
    })
  })

  describe(`users: ${name}: a provisioning key`, () => {
    const K1 = UserId('prk_1')

    test('a provisioning key is stored, edited and removed, also after a restart', async () => {
      expect(await users.addProvisioningKey(provisioningKey('prk_1'))).toBe('added')
      const claims = [{ deviceId: DEVICE, status: 'pending', at: Millis(7), ip: '10.0.0.1' }] as const
      await users.editProvisioningKey(K1, (before) => ({ ...before, taken: 1, claims }))
      await again()
      expect(users.listProvisioningKeys()).toEqual([provisioningKey('prk_1', { taken: 1, claims })])
      expect(await users.removeProvisioningKey(K1)).toBe(true)
      await again()
      expect(await users.editProvisioningKey(K1, (before) => ({ ...before, taken: 9 }))).toBeUndefined()
      expect([users.getProvisioningKey(K1), await users.removeProvisioningKey(K1)]).toEqual([
        undefined,
        false,
      ])
    })

    test('places that are taken at once are counted one by one', async () => {
      await users.addProvisioningKey(provisioningKey('prk_1', { devicesMax: 20 }))
      const take = () =>
        users.editProvisioningKey(K1, (before) =>
          before.taken < before.devicesMax ? { ...before, taken: before.taken + 1 } : before,
        )
      await Promise.all(Array.from({ length: 50 }, take))
      expect(users.getProvisioningKey(K1)?.taken).toBe(20)
    })
  })

  describe(`users: ${name}: all of them`, () => {
    const kept = {
      ...{ users: [ADMIN, user('u2')], keys: [apiKey('k2')] },
      provisioningKeys: [provisioningKey('prk_2', { taken: 3 })],
    }

    test('all users are replaced at once, and nobody stays logged in', async () => {
      // One of the removed users has the e-mail of a new one.
      await users.add(user('u1', { email: 'u2@example.org' }))
      await users.add(user('a1', { role: 'admin', name: 'before' }))
      await users.putGrant(grant('a'))
      await users.addKey(apiKey('k1'))
      await users.addProvisioningKey(provisioningKey('prk_1'))
      expect(await users.replaceAll(kept, { onlyIfNone: true })).toBe('not_empty')
      expect(users.get(U1)?.email).toBe('u2@example.org')
      expect(await users.replaceAll(kept)).toBe('replaced')
      for (const look of [async () => {}, again]) {
        await look()
        expect([...users.list()].sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(kept.users)
        expect(users.listKeys()).toEqual(kept.keys)
        expect(users.listProvisioningKeys()).toEqual(kept.provisioningKeys)
        expect(users.getByEmail('u2@example.org')?.id).toBe('u2')
        expect([users.getGrant('a'), users.hasFamily('f1')]).toEqual([undefined, false])
      }
    })

    test('a backup that knows of no provisioning keys leaves them alone', async () => {
      await users.addProvisioningKey(provisioningKey('prk_1'))
      expect(await users.replaceAll({ users: kept.users, keys: [] })).toBe('replaced')
      expect(users.listProvisioningKeys()).toEqual([provisioningKey('prk_1')])
    })

    test('users can be restored into an empty store, up to the bound', async () => {
      const many = Array.from({ length: LIMITS.apiKeysMax + 1 }, (_, i) => apiKey(`k${i}`))
      expect(await users.replaceAll({ users: [], keys: many })).toBe('full')
      expect(await users.replaceAll(kept, { onlyIfNone: true })).toBe('replaced')
      expect(users.count()).toBe(2)
    })
  })
}
