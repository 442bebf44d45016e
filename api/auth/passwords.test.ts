import { verify } from '@node-rs/argon2'
import { expect, test } from 'vitest'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { UserId } from '../../schemas/ids.ts'
import { createIds } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import { EditableUsers } from '../testing/memory-engine.ts'
import { NOW } from '../testing/rest.ts'
import { createFirstAdmin } from './first-admin.ts'
import { openPasswords } from './passwords.ts'
import { isInScope, scopeOf } from './scope.ts'

test('a password is hashed with argon2id at the cost that OWASP recommends, and verifies', async () => {
  const passwords = openPasswords()
  const hashed = await passwords.hash('correct horse', 'w')
  expect(hashed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await passwords.verify('correct horse', hashed, 'w')).toBe(true)
  expect(await passwords.verify('wrong horse', hashed, 'w')).toBe(false)
  expect(await passwords.verify('correct horse', undefined, 'w')).toBe(false)
})

test('an unknown e-mail costs one verification, like a wrong password', async () => {
  const verified: string[] = []
  const passwords = openPasswords({
    hash: () => expect.fail('nothing is hashed at a login'),
    async verify(hashed, password) {
      verified.push(hashed)
      return await verify(hashed, password)
    },
  })
  const known = await openPasswords().hash('correct horse', 'w')
  expect(await passwords.verify('wrong horse', known === 'busy' ? '' : known, 'w')).toBe(false)
  expect(await passwords.verify('wrong horse', undefined, 'w')).toBe(false)
  expect(await passwords.verify('', undefined, 'w')).toBe(false)
  const costs = verified.map((hashed) => hashed.split('$').slice(1, 4).join('$'))
  expect(costs).toEqual(Array(3).fill('argon2id$v=19$m=19456,t=2,p=1'))
  expect(new Set(verified.map(({ length }) => length)).size).toBe(1)
})

test('a password matches in any Unicode composition', async () => {
  const passwords = openPasswords()
  const hashed = await passwords.hash('caf\u00e9 caf\u00e9', 'w')
  expect(await passwords.verify('cafe\u0301 cafe\u0301', hashed, 'w')).toBe(true)
})

test('many hashes wait in a bounded queue, and beyond it they are refused at once', async () => {
  const passwords = openPasswords()
  const room = API_LIMITS.hashesAtOnceMax + API_LIMITS.hashesWaitingMax
  const results = await Promise.all(
    Array.from({ length: room + 5 }, () => passwords.hash('correct horse', 'w')),
  )
  expect(results.filter((result) => result === 'busy').length).toBe(5)
  expect(await passwords.hash('correct horse', 'w')).not.toBe('busy')
})

test('a scope covers its group and the groups below it', () => {
  const scope = ['eu', 'us/west']
  const inScope = ['eu', 'eu/north', 'us/west/1', 'europe', 'us', 'us/western', undefined].map((group) =>
    isInScope(group, scope),
  )
  expect(inScope).toEqual([true, true, true, false, false, false, false])
  expect(scopeOf({ role: 'admin', groups: scope })).toBeUndefined()
  expect(scopeOf({ role: 'operator', groups: [] })).toBeUndefined()
  expect(scopeOf({ role: 'viewer', groups: scope })).toBe(scope)
})

test('the first admin is created once, as configured or with a password that is shown once', async () => {
  const passwords = openPasswords()
  const make = async (settings: object, users = new EditableUsers(), more: object = {}) => {
    const clock = new StandingTime(NOW)
    const all = {
      adminEmail: undefined,
      adminPassword: undefined,
      registration: 'open' as const,
      ...settings,
    }
    const ports = { users, passwords, clock, ids: createIds(clock), settings: all }
    const made = await createFirstAdmin({ ...ports, handOver: 'shown', ...more })
    return { made, users }
  }
  const generated = await make({})
  const password = generated.made?.generatedPassword ?? ''
  expect(password.length).toBeGreaterThanOrEqual(16)
  const admin = generated.users.getByEmail('admin@fleet.local')
  expect(admin?.role).toBe('admin')
  expect(await passwords.verify(password, admin?.passwordHash, 'w')).toBe(true)
  expect((await make({}, generated.users)).made).toBeUndefined()
  const set = await make({ adminEmail: 'Boss@b.c', adminPassword: 'correct horse' })
  expect(set.made).toMatchObject({ email: 'boss@b.c', generatedPassword: undefined })
  expect(set.users.get(UserId('nobody'))).toBeUndefined()
  expect((await make({ registration: 'bootstrap' })).made).toBeUndefined()
  expect((await make({ registration: 'bootstrap', adminEmail: 'a@b.c' })).made?.email).toBe('a@b.c')
  // If no one can be given the password, no admin is created.
  expect((await make({}, new EditableUsers(), { handOver: undefined })).made).toBeUndefined()
})
