import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Millis, UserId } from '../../../schemas/ids.ts'
import type { Users } from '../../ports/users.ts'
import { REDIS_SERVER, RedisServer, until } from '../redis-harness.ts'
import type { RedisLink } from '../redis-link.ts'
import { user, usersContract } from './contract.ts'
import { openRedisUsers, type RedisUsers } from './redis.ts'

describe.skipIf(REDIS_SERVER === undefined)('with a redis-server (needs one in the PATH)', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())

  interface Opened {
    readonly link: RedisLink
    readonly prefix: string
    readonly close: RedisUsers['close']
  }
  const opened = new Map<Users, Opened>()
  let count = 0

  async function open(prefix = `p${count++}`, node = 'one'): Promise<Users> {
    const link = await server.link({ prefix, node })
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

  test('of two processes, none undoes what the other has written', async () => {
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

  test('of two processes, both keep an e-mail to one user and an admin to the service', async () => {
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

  test('what went while a process could not listen is gone for it, too', async () => {
    const { one, other, close } = await openTwo()
    await one.add(user('u1'))
    await one.add(user('u2'))
    await until(() => other.count() === 2, 'both users')
    // As if the messages of a removal and of one more write had come and been trimmed.
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
    expect(await other.add(user('u3', { email: 'u1@example.org' }))).toBe('added')
    await close()
  })
})
