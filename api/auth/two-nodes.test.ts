// Requests of one client that reach several API nodes, over a real Redis. The Redis connection of one node is slow, so that
// node learns of every change late.
import { createSecretKey } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { REDIS_SERVER, RedisServer, until } from '../../engine/adapters/redis/testing/redis-server.ts'
import { CutProxy } from '../../engine/adapters/testing/proxy.ts'
import { openRedisTickets } from '../../engine/adapters/tickets/redis.ts'
import { openRedisUsers } from '../../engine/adapters/users/redis.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { createIds } from '../ids.ts'
import { API_LIMITS } from '../limits.ts'
import { silentLogger } from '../testing/silent-logger.ts'
import { createAccounts } from './accounts.ts'
import { createApiKeys } from './api-keys.ts'
import { createAuthenticate } from './authenticate.ts'
import { Tickets } from './tickets.ts'
import { openTokens } from './tokens.ts'

const PASSWORD = 'correct horse'
const FROM = { ip: '192.0.2.1', userAgent: undefined }
const USE = { from: FROM, isBrowser: false }
const LATE_MS = 25
const passwords = {
  hash: async (password: string) => `plain:${password}`,
  verify: async (password: string, hashed: string | undefined) => hashed === `plain:${password}`,
}

describe.skipIf(REDIS_SERVER === undefined)('with a redis-server (needs one in the PATH)', () => {
  let server: RedisServer
  let slow: CutProxy
  beforeAll(async () => {
    server = await RedisServer.start()
    slow = await CutProxy.open(`127.0.0.1:${server.port}`)
    slow.delayMs = LATE_MS
  })
  afterAll(async () => {
    await server.stop()
    slow.close()
  })
  let count = 0

  async function openTwo() {
    const clock = new StandingTime(Date.UTC(2026, 2, 1))
    const prefix = `p${count++}`
    const key = createSecretKey(Buffer.from('0123456789abcdef0123456789abcdef'))
    const signing = { id: 'test', alg: 'HS256', sign: key, verify: key, jwk: undefined } as const
    const node = async (url: string) => {
      const link = await server.link({ prefix, url })
      const { users, close } = await openRedisUsers(link)
      const [ids, tokens] = [createIds(clock), openTokens({ keys: { signing, previous: [] }, clock })]
      const apiKeys = createApiKeys({ users, ids, clock })
      const authenticate = createAuthenticate({ tokens, apiKeys, users, clock })
      const accounts = createAccounts({
        ...{ users, tokens, ids, clock, passwords, logger: silentLogger },
        ...{ refreshRotation: true, registration: 'open', rateShares: undefined },
      })
      const login = async (email: string) => {
        const opened = await accounts.login({ email, password: PASSWORD, from: FROM, isLocal: false })
        return opened.kind === 'logged_in' ? opened : expect.fail(`no login: ${opened.code}`)
      }
      const tickets = new Tickets(authenticate, openRedisTickets(link))
      return { accounts, authenticate, close, login, tickets, users }
    }
    const [one, other] = [await node(server.url), await node(server.urlAt(slow.url))]
    const register = async (email: string) => {
      const body = { email, name: 'Ada', password: PASSWORD, role: 'admin' } as const
      const registered = await one.accounts.register(body, {
        authenticate: async () => undefined,
        isLocal: true,
        ip: '192.0.2.1',
      })
      return registered.kind === 'registered' ? registered.user : expect.fail(`not taken: ${registered.code}`)
    }
    const close = () => Promise.all([one.close(), other.close()])
    return { clock, one, other, register, close }
  }

  test('the steps of a client may go to different nodes without waiting', async () => {
    const { one, other, register, close } = await openTwo()
    for (let i = 0; i < 4; i++) {
      const email = `ada${i}@example.org`
      const user = await register(email)
      const { accessToken, refreshToken } = await other.login(email)
      expect(await one.authenticate(accessToken)).toMatchObject({ kind: 'user', user: { email } })
      const renewed = await one.accounts.logins.renew(refreshToken, USE)
      if (renewed.kind === 'refused') return expect.fail(renewed.code)
      expect(await other.authenticate(renewed.accessToken)).toMatchObject({ kind: 'user' })
      const edited = await other.accounts.edit(user.id, { name: 'Eve' }, user.id)
      expect(edited).toMatchObject({ kind: 'edited', user: { name: 'Eve' } })
    }
    await close()
  })

  test('a logout at one node ends sockets and tokens at the other', async () => {
    const { one, other, register, close } = await openTwo()
    await register('ada@example.org')
    const { accessToken, refreshToken, userId } = await one.login('ada@example.org')
    const open = await other.authenticate(accessToken)
    if (open.kind === 'refused') return expect.fail(open.code)
    const told: boolean[] = []
    other.users.onChange((changed) => {
      if (changed.has(userId)) told.push(open.current() === undefined)
    })
    await one.accounts.logout(userId, refreshToken)
    await until(() => told.includes(true), 'the other node to see the end')
    expect(await other.authenticate(accessToken)).toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await other.accounts.logins.renew(refreshToken, USE)).toMatchObject({ code: 'UNAUTHENTICATED' })
    await close()
  })

  test('a refresh token is renewed once, and its later reuse ends the login at both nodes', async () => {
    const { clock, one, other, register, close } = await openTwo()
    await register('ada@example.org')
    const { refreshToken } = await one.login('ada@example.org')
    const both = await Promise.all(
      [one, other].map(({ accounts }) => accounts.logins.renew(refreshToken, USE)),
    )
    const [first, second] = both.map((renewed) => (renewed.kind === 'logged_in' ? renewed : undefined))
    expect(first?.refreshToken).toBe(second?.refreshToken)
    clock.at += API_LIMITS.refreshLeewayMs + 1
    expect(await other.accounts.logins.renew(refreshToken, USE)).toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(await one.accounts.logins.renew(first?.refreshToken ?? '', USE)).toMatchObject({
      code: 'UNAUTHENTICATED',
    })
    await close()
  })

  test('guesses from many networks do not lock out the owner at a node that never saw the owner log in', async () => {
    const { one, other, register, close } = await openTwo()
    const email = 'ada@example.org'
    await register(email)
    await one.login(email)
    await other.users.catchUp()
    const guess = (ip: string) =>
      other.accounts.login({ email, password: 'a guess', from: { ...FROM, ip }, isLocal: true })
    for (let i = 0; i < API_LIMITS.wrongPasswordsPerHourMax; i++)
      expect(await guess(`198.51.100.${i}`)).toMatchObject({ code: 'INVALID_CREDENTIALS' })
    expect(await guess('198.51.100.250')).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
    await other.login(email)
    await close()
  })

  test('a ticket for /ws opens one socket, at either node', async () => {
    const { one, other, register, close } = await openTwo()
    const { id } = await register('ada@example.org')
    const { accessToken } = await one.login('ada@example.org')
    const ticket = (await one.tickets.issue(id, accessToken)) ?? ''
    const shown = await Promise.all([other, one, other].map(({ tickets }) => tickets.redeem(ticket)))
    expect(shown.filter(({ kind }) => kind === 'user')).toHaveLength(1)
    await close()
  })
})
