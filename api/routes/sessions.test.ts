import { describe, expect, test } from 'vitest'
import type { Logger } from '../logger.ts'
import { openHarness } from '../testing/rest.ts'
import { silentLogger } from '../testing/silent-logger.ts'

const AUTH = '/api/v1/auth'
const ADA = { email: 'ada@example.com', password: 'correct horse', name: 'Ada', role: 'admin' }
const OWN = { 'sec-fetch-site': 'same-origin' }
const LOGIN = { email: ADA.email, password: ADA.password }

async function openPage() {
  const warnings: unknown[] = []
  const logger: Logger = { ...silentLogger, warn: (fields, message) => warnings.push({ ...fields, message }) }
  const harness = openHarness({ logger })
  const { request } = harness
  await request(`POST ${AUTH}/register`, { body: ADA })
  const enter = (more: object = {}) =>
    request(`POST ${AUTH}/session`, { headers: OWN, body: { ...LOGIN, ...more } })
  const renew = (cookie: string, headers: Readonly<Record<string, string>> = OWN) =>
    request(`POST ${AUTH}/session/refresh`, { headers: { ...headers, cookie }, body: {} })
  const statusWith = async (token: string) => (await request(`GET ${AUTH}/me`, { token })).status
  return { ...harness, enter, renew, statusWith, warnings }
}

/** The `name=value` of a Set-Cookie, as a browser sends it back. */
const cookieOf = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }) =>
  String(headers['set-cookie']).split(';', 1)[0] ?? ''

describe('a browser session', () => {
  test('a login answers an access token and the user, and its refresh token is in the cookie alone', async () => {
    const { enter, statusWith } = await openPage()
    const { status, body, headers, text } = await enter()
    expect(status).toBe(200)
    expect(body).toMatchObject({ token_type: 'bearer', expires_in: 3600, user: { email: ADA.email } })
    expect(text).not.toContain('rt_')
    expect(await statusWith(body.access_token)).toBe(200)
    expect(headers['set-cookie']).toMatch(
      /^fleet_session_[0-9a-f]{8}=rt_[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/api\/v1\/auth\/session$/,
    )
    expect(headers['cache-control']).toBe('no-store')
  })

  test('the cookie outlives the window only if the user stays logged in, and never its login', async () => {
    const { enter, renew, clock } = await openPage()
    const first = await enter({ remember: true })
    expect(first.headers['set-cookie']).toMatch(/; Max-Age=2592000$/)
    clock.at += 86_400_000
    expect((await renew(cookieOf(first))).headers['set-cookie']).toMatch(/; Max-Age=2505600$/)
  })

  test('the cookie is Secure if the browser reached the service over TLS', async () => {
    const { request } = openHarness({ trustedProxies: ['127.0.0.1'] })
    await request(`POST ${AUTH}/register`, { body: ADA })
    const cookieFor = async (headers: Readonly<Record<string, string>>) =>
      (await request(`POST ${AUTH}/session`, { headers: { ...OWN, ...headers }, body: LOGIN })).headers[
        'set-cookie'
      ]
    expect(await cookieFor({ 'x-forwarded-proto': 'https' })).toContain('; Secure')
    expect(await cookieFor({ host: 'fleet.example.com' })).toContain('; Secure')
    expect(await cookieFor({ host: 'localhost:8000' })).not.toContain('Secure')
  })

  test('each renewal replaces the cookie, although refresh tokens of programs stay', async () => {
    const { enter, renew, statusWith } = await openPage()
    let cookie = cookieOf(await enter())
    const seen = new Set([cookie])
    for (let i = 1; i <= 3; i++) {
      const renewed = await renew(cookie)
      expect([renewed.status, await statusWith(renewed.body.access_token)]).toEqual([200, 200])
      cookie = cookieOf(renewed)
      expect(seen.size).toBe(i)
      seen.add(cookie)
    }
  })

  test('two tabs that renew at once get the same cookie', async () => {
    const { enter, renew, warnings } = await openPage()
    const cookie = cookieOf(await enter())
    const both = await Promise.all([renew(cookie), renew(cookie)])
    expect(new Set(both.map(cookieOf)).size).toBe(1)
    expect(warnings).toEqual([])
  })

  test('a cookie that comes back after its successor ends its login, and no other one', async () => {
    const { enter, renew, statusWith, clock, warnings } = await openPage()
    const [stolen, other] = [await enter(), await enter()]
    const next = await renew(cookieOf(stolen))
    clock.at += 10_001
    expect(await renew(cookieOf(stolen))).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
    expect((await renew(cookieOf(next))).status).toBe(401)
    expect(await statusWith(next.body.access_token)).toBe(401)
    expect((await renew(cookieOf(other))).status).toBe(200)
    expect(warnings).toHaveLength(1)
  })

  test('a cookie’s token is nothing to programs, and a program’s token nothing in a cookie', async () => {
    const { enter, renew, request } = await openPage()
    const cookie = cookieOf(await enter())
    const [name, refresh_token] = cookie.split('=')
    const asBody = await request(`POST ${AUTH}/refresh`, { body: { refresh_token } })
    expect(asBody.body.code).toBe('UNAUTHENTICATED')
    const { body: login } = await request(`POST ${AUTH}/login`, { body: LOGIN })
    expect((await renew(`${name}=${login.refresh_token}`)).body.code).toBe('UNAUTHENTICATED')
    expect((await renew(cookie)).status).toBe(200)
  })

  test('a logout removes the cookie and ends the login; without a cookie there is nothing to end', async () => {
    const { enter, renew, request, statusWith } = await openPage()
    const entered = await enter()
    const leave = (cookie: string) => request(`DELETE ${AUTH}/session`, { headers: { ...OWN, cookie } })
    const left = await leave(`a=b; ${cookieOf(entered)}`)
    expect(left.status).toBe(204)
    expect(left.headers['set-cookie']).toMatch(/^fleet_session_\w{8}=; HttpOnly;.*; Max-Age=0$/)
    expect((await renew(cookieOf(entered))).status).toBe(401)
    expect(await statusWith(entered.body.access_token)).toBe(401)
    expect((await leave('a=b')).status).toBe(204)
  })

  test('a wrong password and a missing field are told apart', async () => {
    const { enter, request } = await openPage()
    expect((await enter({ password: 'wrong horse' })).body.code).toBe('INVALID_CREDENTIALS')
    const without = await request(`POST ${AUTH}/session`, { headers: OWN, body: { email: ADA.email } })
    expect(without.body.errors).toMatchObject([{ path: '/password', code: 'REQUIRED' }])
    expect((await enter({ ticket: 'lgn_x' })).body.errors).toMatchObject([{ path: '/ticket' }])
  })
})

describe('the endpoints of the session', () => {
  const ORIGIN = 'https://fleet.example.com'
  const FOREIGN: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['a page elsewhere', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
    ['a page on another port of the host', { 'sec-fetch-site': 'same-site' }],
    ['a link or a bookmark', { 'sec-fetch-site': 'none' }],
    ['a page that claims our origin', { 'sec-fetch-site': 'cross-site', origin: ORIGIN }],
    ['a page elsewhere, in an old browser', { origin: 'http://localhost:8001' }],
    ['a page in a sandbox', { origin: 'null' }],
    ['a program without either header', {}],
  ]
  test.each(FOREIGN)('the session refuses %s, and no cookie is replaced', async (_, headers) => {
    const { enter, renew, request } = await openPage()
    const cookie = cookieOf(await enter())
    const sent = { ...headers, cookie, host: 'localhost:8000' }
    const answers = [
      await request(`POST ${AUTH}/session`, { headers: sent, body: LOGIN }),
      await request(`POST ${AUTH}/session/refresh`, { headers: sent, body: {} }),
      await request(`DELETE ${AUTH}/session`, { headers: sent }),
    ]
    for (const { status, body, headers: sentBack } of answers) {
      expect([status, body.code]).toEqual([403, 'FORBIDDEN'])
      expect(sentBack['set-cookie']).toBeUndefined()
    }
    const renewed = await renew(cookie)
    expect(renewed.status).toBe(200)
    expect(cookieOf(renewed)).not.toBe(cookie)
  })

  test.each([
    ['the host that was asked', { host: 'localhost:8000', origin: 'http://localhost:8000' }],
    ['the public address', { host: '10.0.0.1', origin: ORIGIN }],
  ])('without Sec-Fetch-Site a page of %s is answered', async (_, headers) => {
    const { enter, renew } = await openPage()
    expect((await renew(cookieOf(await enter()), headers)).status).toBe(200)
  })

  test('only JSON is read, so that no form of another page can log somebody in', async () => {
    const { request } = await openPage()
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const headers = { ...OWN, 'content-type': type }
      const { body } = await request(`POST ${AUTH}/session`, { headers, body: JSON.stringify(LOGIN) })
      expect(body.code).toBe('UNSUPPORTED_MEDIA_TYPE')
    }
    const empty = await request(`POST ${AUTH}/session/refresh`, { headers: OWN })
    expect(empty.body.code).toBe('VALIDATION_FAILED')
  })

  test('attempts at a password count as those of any login', async () => {
    const { enter } = await openPage()
    const codes = new Set<string>()
    for (let i = 0; i < 30; i++) codes.add((await enter({ password: 'wrong horse' })).body.code)
    expect(codes).toContain('RATE_LIMIT_EXCEEDED')
  })
})

describe('a ticket of a login address', () => {
  async function openTicket() {
    const page = await openPage()
    const [user] = page.engine.users.list()
    if (user === undefined) throw new Error('there is a user')
    const { token } = await page.tokens.issueAccess({ userId: user.id, at: page.clock.now() })
    const ticket = await page.loginTickets.issue(user.id, token)
    const redeem = () => page.request(`POST ${AUTH}/session`, { headers: OWN, body: { ticket } })
    return { ...page, user, token, ticket, redeem }
  }

  test('the ticket logs its user in, once', async () => {
    const { redeem, renew } = await openTicket()
    const entered = await redeem()
    expect(entered.body.user.email).toBe(ADA.email)
    expect((await renew(cookieOf(entered))).status).toBe(200)
    expect(await redeem()).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } })
  })

  test('the ticket ends after a quarter of an hour', async () => {
    const { redeem, clock } = await openTicket()
    clock.at += 900_000
    expect((await redeem()).status).toBe(401)
  })

  test('the ticket is void once the password has changed', async () => {
    const { redeem, request, token } = await openTicket()
    const body = { password: 'battery staple', current_password: ADA.password }
    expect((await request(`PATCH ${AUTH}/me`, { token, body })).status).toBe(200)
    expect((await redeem()).status).toBe(401)
  })

  test('a ticket for /ws does not log in, and one for a login opens no /ws', async () => {
    const { request, token, tickets, ticket, redeem } = await openTicket()
    const { body } = await request(`POST ${AUTH}/ws-ticket`, { token })
    const asLogin = await request(`POST ${AUTH}/session`, { headers: OWN, body: { ticket: body.ticket } })
    expect(asLogin.status).toBe(401)
    expect(await tickets.redeem(ticket ?? '')).toMatchObject({ kind: 'refused' })
    expect((await redeem()).status).toBe(200)
  })
})

describe('the list of logins', () => {
  test('a user sees all logins with their origin, and which is the own one', async () => {
    const { enter, request, renew, clock } = await openPage()
    await request(`POST ${AUTH}/login`, { headers: { 'user-agent': 'fleet-cli' }, body: LOGIN })
    clock.at += 1_000
    const entered = await enter()
    clock.at += 3_000
    await renew(cookieOf(entered), { ...OWN, 'user-agent': 'Firefox' })
    const { body } = await request(`GET ${AUTH}/sessions`, { token: entered.body.access_token })
    expect(body.data).toMatchObject([
      { kind: 'browser', current: true, user_agent: 'Firefox', ip: '127.0.0.1' },
      { kind: 'api', current: false, user_agent: 'fleet-cli', ip: '127.0.0.1' },
    ])
    expect(Date.parse(body.data[0].last_used_at) - Date.parse(body.data[0].created_at)).toBe(3_000)
  })

  test('ending a login voids its tokens; the logins of others are not found', async () => {
    const { enter, request, statusWith, login, renew } = await openPage()
    const [here, there] = [await enter(), await enter()]
    const token = here.body.access_token
    const { body } = await request(`GET ${AUTH}/sessions`, { token })
    const { id: lost, session_id: same } = body.data.find(({ current }: { current: boolean }) => !current)
    expect(lost).toBe(same)
    const { token: foreign } = await login('admin')
    expect((await request(`DELETE ${AUTH}/sessions/${lost}`, { token: foreign })).status).toBe(404)
    expect((await request(`DELETE ${AUTH}/sessions/${lost}`, { token })).status).toBe(204)
    expect((await renew(cookieOf(there))).status).toBe(401)
    expect([await statusWith(there.body.access_token), await statusWith(token)]).toEqual([401, 200])
    expect((await request(`DELETE ${AUTH}/sessions/${lost}`, { token })).status).toBe(404)
  })

  test('a login that has ended or was idle for too long is not listed', async () => {
    const { enter, request, clock, login } = await openPage()
    await enter()
    clock.at += 7 * 86_400_000
    const { body } = await enter()
    const { body: listed } = await request(`GET ${AUTH}/sessions`, { token: body.access_token })
    expect(listed.data).toHaveLength(1)
    const { token } = await login('viewer')
    expect((await request(`GET ${AUTH}/sessions`, { token })).body.data).toEqual([])
  })
})
