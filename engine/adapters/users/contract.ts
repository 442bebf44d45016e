// What every keeper of users promises; each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Millis, UserId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { RefreshGrant, User, Users } from '../../ports/users.ts'

export interface UsersContract {
  readonly name: string
  open(): Promise<Users>
  /** The same users after the process ended. */
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

function grant(tokenHash: string, over: Partial<RefreshGrant> = {}): RefreshGrant {
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

export function usersContract({ name, open, restart, close }: UsersContract): void {
  describe(`users: ${name}`, () => {
    let users: Users

    beforeEach(async () => {
      users = await open()
    })
    afterEach(() => close(users))

    test('a user is found by id and by e-mail in any case, also after a restart', async () => {
      expect(await users.put(user('u1'))).toBe(true)
      users = await restart(users)
      expect(users.get(UserId('u1'))).toEqual(user('u1'))
      expect(users.getByEmail('U1@Example.org')).toEqual(user('u1'))
      expect(users.getByEmail('u2@example.org')).toBeUndefined()
      expect([users.count(), users.list()]).toEqual([1, [user('u1')]])
    })

    test('an e-mail belongs to one user', async () => {
      await users.put(user('u1'))
      expect(await users.put(user('u2', { email: 'u1@example.org' }))).toBe(false)
      expect(users.get(UserId('u2'))).toBeUndefined()
      expect(await users.put(user('u1', { name: 'New' }))).toBe(true)
      expect(users.getByEmail('u1@example.org')?.name).toBe('New')
    })

    test('of two at once with one e-mail exactly one is taken', async () => {
      const puts = ['u1', 'u2', 'u3'].map((id) => users.put(user(id, { email: 'same@example.org' })))
      expect((await Promise.all(puts)).filter(Boolean)).toHaveLength(1)
      expect(users.count()).toBe(1)
    })

    test('of many first users at once exactly one is the first', async () => {
      const puts = ['u1', 'u2', 'u3'].map((id) => users.put(user(id), { onlyIfNone: true }))
      expect((await Promise.all(puts)).filter(Boolean)).toHaveLength(1)
      expect(users.count()).toBe(1)
    })

    test('a changed e-mail frees the old one', async () => {
      await users.put(user('u1'))
      await users.put(user('u1', { email: 'other@example.org' }))
      users = await restart(users)
      expect(users.getByEmail('u1@example.org')).toBeUndefined()
      expect(await users.put(user('u2', { email: 'u1@example.org' }))).toBe(true)
    })

    test('grants are found by their hash and dropped by user or family', async () => {
      await users.putGrant(grant('a'))
      await users.putGrant(grant('b', { family: 'f2' }))
      await users.putGrant(grant('c', { userId: UserId('u2'), family: 'f3' }))
      users = await restart(users)
      expect(users.getGrant('a')).toEqual(grant('a'))
      await users.dropGrants({ family: 'f1' })
      expect([users.getGrant('a'), users.getGrant('b')]).toEqual([undefined, grant('b', { family: 'f2' })])
      await users.dropGrants({ userId: UserId('u1') })
      users = await restart(users)
      expect(users.getGrant('b')).toBeUndefined()
      expect(users.getGrant('c')).toBeDefined()
    })

    test('expired grants of a user go when a new one comes', async () => {
      await users.putGrant(grant('old'))
      const later = Millis(1_700_000_002_000)
      await users.putGrant(grant('new', { createdAt: later, usedAt: later, expiresAt: Millis(later + 1000) }))
      expect(users.getGrant('old')).toBeUndefined()
      expect(users.getGrant('new')).toBeDefined()
    })

    test('a user has a bounded number of grants; the longest unused go first', async () => {
      const at = 1_700_000_000_000
      for (let i = 0; i < LIMITS.grantsPerUserMax + 5; i++)
        await users.putGrant(grant(`g${i}`, { usedAt: Millis(at + i), expiresAt: Millis(at + 1e9) }))
      expect(users.getGrant('g4')).toBeUndefined()
      expect(users.getGrant('g5')).toBeDefined()
      expect(users.getGrant(`g${LIMITS.grantsPerUserMax + 4}`)).toBeDefined()
    })
  })
}
