import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Millis, UserId } from '../../../schemas/ids.ts'
import type { Users } from '../../ports/users.ts'
import type { RedisLink } from '../redis/redis-link.ts'
import { REDIS_SERVER, RedisServer, until } from '../redis/testing/redis-server.ts'
import { CutProxy } from '../testing/proxy.ts'
import { openRedisUsers, type RedisUsers } from './redis.ts'
import { apiKey, grant, provisioningKey, user, usersContract } from './testing/contract.ts'

describe.skipIf(REDIS_SERVER === undefined)('with a redis-server (needs one in the PATH)', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())

  interface OpenedUsers {
    readonly link: RedisLink
    readonly prefix: string
    readonly close: RedisUsers['close']
  }
  const opened = new Map<Users, OpenedUsers>()
  let count = 0

  async function open(prefix = `p${count++}`, node = 'one', url = server.url): Promise<Users> {
    const link = await server.link({ prefix, node, url })
    const { users, close } = await openRedisUsers(link)
    opened.set(users, { link, prefix, close })
    return users
  }

  async function end(users: Users): Promise<void> {
    const { link, close } = opened.get(users) ?? {}
    link?.close()
    await close?.()
  }

  usersContract({
    name: 'redis',
    open: async () => open(),
    restart: async (users) => {
      await end(users)
      return open(opened.get(users)?.prefix)
    },
    close: end,
  })

  async function openTwo() {
    const prefix = `p${count++}`
    const [one, other] = [await open(prefix), await open(prefix, 'other')]
    return { one, other, close: () => Promise.all([end(one), end(other)]) }
  }

  test('two processes do not undo each other’s writes', async () => {
    const { one, other, close } = await openTwo()
    await one.add(user('u1', { lastLoginAt: Millis(0) }))
    await until(() => other.count() === 1, 'the other one to know the user')
    const logins = [one, other].flatMap((users) =>
      Array.from({ length: 50 }, () =>
        users.edit(UserId('u1'), (before) => ({
          ...before,
          lastLoginAt: Millis(Number(before.lastLoginAt) + 1),
        })),
      ),
    )
    await Promise.all(logins)
    for (const users of [one, other])
      await until(() => users.get(UserId('u1'))?.lastLoginAt === 100, 'a hundred logins')
    await close()
  })

  test('two processes together keep e-mails unique and at least one admin', async () => {
    const { one, other, close } = await openTwo()
    const email = 'same@example.org'
    const added = await Promise.all([
      one.add(user('a1', { email, role: 'admin' })),
      other.add(user('a2', { email, role: 'admin' })),
    ])
    expect(added.sort()).toEqual(['added', 'email_taken'])
    await one.add(user('a3', { role: 'admin' }))
    const admins = one.list().map(({ id }) => id)
    await until(() => other.count() === 2, 'the other one to know both')
    const kinds = await Promise.all(
      [one, other].map(async (users, i) => (await users.remove(admins[i] ?? UserId(''))).kind),
    )
    expect(kinds.sort()).toEqual(['edited', 'kept'])
    expect(await one.add(user('u1'), { onlyIfNone: true })).toBe('not_the_first')
    await close()
  })

  test('two processes together give no more places of a provisioning key than there are', async () => {
    const { one, other, close } = await openTwo()
    await one.addProvisioningKey(provisioningKey('prk_1', { devicesMax: 20 }))
    const takes = Array.from({ length: 50 }, (_, i) =>
      (i % 2 === 0 ? one : other).editProvisioningKey(UserId('prk_1'), (before) =>
        before.taken < before.devicesMax ? { ...before, taken: before.taken + 1 } : before,
      ),
    )
    await Promise.all(takes)
    for (const users of [one, other])
      await until(() => users.getProvisioningKey(UserId('prk_1'))?.taken === 20, 'twenty places to be taken')
    await close()
  })

  test('a revocation in one process reaches the other, which then applies it', async () => {
    const { one, other, close } = await openTwo()
    const told: string[] = []
    const facts = () => [
      other.get(UserId('u1'))?.tokensValidFrom,
      other.hasFamily('f'),
      other.listKeys().length,
    ]
    other.onChange((changed) => void told.push([...changed, ...facts()].join(' ')))
    const heard = (what: string) => until(() => told.includes(what), what)
    await one.add(user('u1'))
    await one.putGrant(grant('h1', { family: 'f' }))
    await one.addKey(apiKey('k1'))
    await heard('k1 0 true 1')
    await one.dropFamily('f')
    await heard('u1 0 false 1')
    await one.edit(UserId('u1'), (before) => ({ ...before, tokensValidFrom: Millis(7) }))
    await heard('u1 7 false 1')
    await one.removeKey(UserId('k1'))
    await heard('k1 7 false 0')
    await one.remove(UserId('u1'))
    await heard('u1  false 0')
    await close()
  })

  test('a process that has caught up has the writes of the other', async () => {
    const slow = await CutProxy.open(`127.0.0.1:${server.port}`)
    slow.delayMs = 25
    const prefix = `p${count++}`
    const [one, other] = [await open(prefix), await open(prefix, 'other', server.urlAt(slow.url))]
    for (let i = 0; i < 4; i++) {
      await one.add(user(`u${i}`))
      expect(other.get(UserId(`u${i}`))).toBeUndefined()
      await other.catchUp()
      expect(other.get(UserId(`u${i}`))).toBeDefined()
      // Nothing guarantees that changes are announced by now.
      await one.edit(UserId(`u${i}`), (before) => ({ ...before, name: 'B' }))
      expect(await other.remove(UserId(`u${i}`))).toMatchObject({ kind: 'edited', user: { name: 'B' } })
    }
    await Promise.all([end(one), end(other)])
    slow.close()
  })

  test('a refresh token that two processes replace at once has one successor', async () => {
    const { one, other, close } = await openTwo()
    await one.putGrant(grant('h1'))
    await until(() => other.getGrant('h1') !== undefined, 'the login')
    const replaced = await Promise.all(
      [one, other].map((users, i) =>
        users.editGrant('h1', (before) =>
          before.replaced === undefined
            ? {
                grant: { ...before, replaced: { at: Millis(1), seed: `s${i}` } },
                successor: grant(`next${i}`),
              }
            : { grant: before },
        ),
      ),
    )
    const seeds = replaced.map((after) => after?.replaced?.seed)
    expect(seeds[0]).toBe(seeds[1])
    for (const users of [one, other])
      await until(() => users.getGrant(seeds[0] === 's0' ? 'next0' : 'next1') !== undefined, 'the successor')
    expect(one.getGrant(seeds[0] === 's0' ? 'next1' : 'next0')).toBeUndefined()
    await close()
  })

  test('a process without contact to Redis reports that, and afterwards announces the changes it missed', async () => {
    const away = await RedisServer.start()
    const [link, fence] = [await away.link({ node: 'one' }), await away.link({ node: 'other' })]
    const [one, other] = [await openRedisUsers(link), await openRedisUsers(fence)]
    expect(other.users.isUp()).toBe(true)
    away.signal('SIGSTOP')
    await until(() => !other.users.isUp(), 'silence to show')
    away.signal('SIGCONT')
    await until(() => other.users.isUp() && one.users.isUp(), 'both to hear again')
    const told: string[] = []
    other.users.onChange((changed) => void told.push(...changed))
    await one.users.add(user('u1'))
    await until(() => told.includes('u1'), 'the user')
    await Promise.all([one.close(), other.close()])
    await away.stop()
  })

  test('a process also learns of removals that happened while it could not listen', async () => {
    const { one, other, close } = await openTwo()
    await one.add(user('u1'))
    await one.add(user('u2'))
    await until(() => other.count() === 2, 'both users')
    const told: string[] = []
    other.onChange((changed) => void told.push(...changed))
    // This is the state after the messages of a removal and of another write were trimmed.
    const { prefix = '' } = opened.get(one) ?? {}
    const key = `{${prefix}}:user-changes`
    await server.run((redis) =>
      redis
        .multi()
        .hdel(`{${prefix}}:users`, 'user:u1')
        .incrby(`${key}:seq`, 2)
        .xadd(key, '4-1', 'told', Buffer.from([0xdd, 0, 0, 0, 0]))
        .xtrim(key, 'MAXLEN', 1)
        .exec(),
    )
    await until(() => one.count() === 1 && other.count() === 1, 'the user to be gone')
    expect(told).toContain('u1')
    expect(await other.add(user('u3', { email: 'u1@example.org' }))).toBe('added')
    await close()
  })
})
