import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Fault } from '../../engine/ports/fault.ts'
import { openKeyRing } from '../auth/key-ring.ts'
import { type HarnessOptions, NOW, openHarness } from '../testing/rest.ts'

const ADA = { email: 'Ada@Example.com', password: 'correct horse', name: 'Ada', role: 'admin' }
const AUTH = '/api/v1/auth'
const DAY_MS = 86_400_000

async function registered(options: HarnessOptions = {}) {
  const harness = openHarness(options)
  const { status, body: user } = await harness.request(`POST ${AUTH}/register`, { body: ADA })
  expect(status).toBe(201)
  const login = async () => {
    const { body } = await harness.request(`POST ${AUTH}/login`, { body: ADA })
    return body
  }
  return { ...harness, user, enter: login }
}

describe('registration', () => {
  test('open: anyone gets the requested role, or viewer, and the password is never returned', async () => {
    const { request, user } = await registered()
    expect(user).toEqual({
      id: expect.stringMatching(/^usr_[0-9a-z]{26}$/),
      email: 'ada@example.com',
      name: 'Ada',
      role: 'admin',
      created_at: '2026-03-01T12:00:00.500Z',
    })
    const second = await request(`POST ${AUTH}/register`, {
      body: { ...ADA, email: 'b@c.de', role: undefined },
    })
    expect(second.body.role).toBe('viewer')
    expect(second.headers['location']).toBe(`/api/v1/users/${second.body.id}`)
  })

  test.each([
    'Forwarded',
    'Via',
    'X-Forwarded-For',
    'X-Forwarded-Host',
    'X-Forwarded-Port',
    'X-Real-IP',
    'Host',
  ])('open: nobody gets in from elsewhere, as %s tells', async (header) => {
    const { request, engine } = openHarness()
    const headers = { [header.toLowerCase()]: header === 'Host' ? 'fleet.example.com' : '203.0.113.7' }
    const { status, body } = await request(`POST ${AUTH}/register`, { body: ADA, headers })
    expect([status, body.code, body.detail]).toEqual([
      403,
      'REGISTRATION_LOCKED',
      expect.stringContaining('FLEET_REGISTRATION=bootstrap'),
    ])
    expect(engine.users.count()).toBe(0)
  })

  test('bootstrap: the first user becomes admin, and then registration is locked', async () => {
    const { request } = openHarness({ registration: 'bootstrap' })
    const first = await request(`POST ${AUTH}/register`, { body: { ...ADA, role: 'viewer' } })
    expect([first.status, first.body.role]).toEqual([201, 'admin'])
    const second = await request(`POST ${AUTH}/register`, { body: { ...ADA, email: 'b@c.de' } })
    expect([second.status, second.body.code]).toEqual([403, 'REGISTRATION_LOCKED'])
  })

  test('bootstrap: one of many concurrent users becomes admin', async () => {
    const { request, engine } = openHarness({ registration: 'bootstrap' })
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        request(`POST ${AUTH}/register`, { body: { ...ADA, email: `u${i}@b.c` } }),
      ),
    )
    expect(all.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(403)])
    expect(engine.users.count()).toBe(1)
  })

  test('locked: only an admin registers others', async () => {
    const { request, login } = openHarness({ registration: 'locked' })
    const codeWith = async (token?: string) => {
      const { status, body } = await request(`POST ${AUTH}/register`, { token, body: ADA })
      return body.code ?? status
    }
    expect(await codeWith()).toBe('REGISTRATION_LOCKED')
    expect(await codeWith((await login('operator')).token)).toBe('REGISTRATION_LOCKED')
    expect(await codeWith('nonsense')).toBe('UNAUTHENTICATED')
    expect(await codeWith((await login('admin')).token)).toBe(201)
  })

  test('the letter case of an e-mail is ignored', async () => {
    const { request } = await registered()
    const { status, body } = await request(`POST ${AUTH}/register`, {
      body: { ...ADA, email: 'ADA@EXAMPLE.COM' },
    })
    expect([status, body.code]).toEqual([409, 'ALREADY_EXISTS'])
  })

  test.each([
    [{ password: '1234567' }, '/password', 'TOO_SHORT'],
    [{ password: 'x'.repeat(257) }, '/password', 'TOO_LONG'],
    [{ email: 'nobody' }, '/email', 'WRONG_FORMAT'],
    [{ email: 'a@b\r\nBcc: c@d' }, '/email', 'WRONG_FORMAT'],
    [{ email: undefined }, '/email', 'REQUIRED'],
    [{ role: 'root' }, '/role', 'NOT_ALLOWED'],
    [{ role: ['admin'] }, '/role', 'WRONG_TYPE'],
    [{ name: ' ' }, '/name', 'WRONG_FORMAT'],
  ])('refuses %j', async (change, path, code) => {
    const { request, engine } = openHarness()
    const { status, body } = await request(`POST ${AUTH}/register`, { body: { ...ADA, ...change } })
    expect(status).toBe(422)
    expect(body.errors).toContainEqual(expect.objectContaining({ path, code }))
    expect(engine.users.count()).toBe(0)
  })

  test('a registration is refused for a moment while too many passwords are hashed', async () => {
    const busy = { hash: async () => 'busy' as const, verify: async () => 'busy' as const }
    const { request } = openHarness({ passwords: busy })
    for (const path of ['register', 'login']) {
      const { status, headers } = await request(`POST ${AUTH}/${path}`, { body: ADA })
      expect([status, headers['retry-after']]).toEqual([429, '1'])
    }
  })
})

describe('logging in', () => {
  test('a login gives an access token for an hour, which /auth/me accepts', async () => {
    const { request, enter, user } = await registered()
    const { access_token: token, ...rest } = await enter()
    expect(rest).toEqual({
      refresh_token: expect.stringMatching(/^rt_/),
      token_type: 'bearer',
      expires_in: 3600,
    })
    const me = await request(`GET ${AUTH}/me`, { token })
    expect(me.headers['cache-control']).toBe('no-store')
    expect(me.body).toEqual({
      ...user,
      groups: [],
      last_login_at: '2026-03-01T12:00:00.500Z',
    })
  })

  test('an unknown e-mail and a wrong password get the same answer', async () => {
    const { request } = await registered()
    const answers = await Promise.all(
      [
        { ...ADA, password: 'wrong horse' },
        { ...ADA, email: 'x@y.z' },
      ].map(async (body) => {
        const { status, body: problem, headers } = await request(`POST ${AUTH}/login`, { body })
        return { status, ...problem, request_id: '', challenge: headers['www-authenticate'] }
      }),
    )
    expect(answers[0]).toEqual(answers[1])
    const challenge = 'Bearer error="invalid_token"'
    expect(answers[0]).toMatchObject({ status: 401, code: 'INVALID_CREDENTIALS', challenge })
  })

  test('a disabled user is refused everywhere at once', async () => {
    const { request, enter, engine } = await registered()
    const { access_token: token, refresh_token } = await enter()
    for (const user of engine.users.list()) await engine.users.put({ ...user, disabled: true })
    expect((await request(`POST ${AUTH}/login`, { body: ADA })).body.code).toBe('INVALID_CREDENTIALS')
    expect((await request(`GET ${AUTH}/me`, { token })).status).toBe(401)
    expect((await request(`POST ${AUTH}/refresh`, { body: { refresh_token } })).status).toBe(401)
  })

  test('a login fails if another process disables the user meanwhile', async () => {
    const { engine, request, user } = await registered()
    const { users } = engine
    const edit = users.edit.bind(users)
    // Simulates shared users: the change is computed again from the record of the other process.
    users.edit = async (id, change) => {
      const before = users.get(id)
      if (before !== undefined) change(before)
      if (before !== undefined) await users.put({ ...before, disabled: true })
      return edit(id, change)
    }
    const { status } = await request(`POST ${AUTH}/login`, { body: ADA })
    expect([status, users.get(user.id)?.disabled]).toEqual([401, true])
  })

  test('after ten wrong passwords a minute for one e-mail the answer is 429; correct ones are not counted', async () => {
    const { request, enter, clock } = await registered()
    const attempt = async (email = ADA.email) =>
      await request(`POST ${AUTH}/login`, { body: { email, password: 'wrong horse' } })
    for (let i = 0; i < 20; i++) await enter()
    for (let i = 0; i < 10; i++) expect((await attempt()).status).toBe(401)
    const refused = await attempt('ADA@example.com')
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
    expect(refused.headers['retry-after']).toBe('6')
    expect((await attempt('other@example.com')).status).toBe(401)
    clock.at += 6_000
    expect((await attempt()).status).toBe(401)
    expect((await attempt()).status).toBe(429)
  })

  test('wrong passwords from any address of an IPv6 /64 count together', async () => {
    const { request } = openHarness({ trustedProxies: ['127.0.0.1'] })
    const attempt = async (address: string) => {
      const headers = { 'x-forwarded-for': address }
      return (await request(`POST ${AUTH}/login`, { body: ADA, headers })).status
    }
    for (let i = 0; i < 10; i++) expect(await attempt(`2001:db8::${i}`)).toBe(401)
    expect(await attempt('2001:db8::f:1')).toBe(429)
    expect(await attempt('2001:db8:0:1::1')).toBe(401)
  })

  test('programs of this machine log in as often as they like; other addresses have forty passwords checked at once', async () => {
    const passwords = { hash: async () => 'hash', verify: async () => true }
    const { request } = openHarness({ passwords, trustedProxies: ['127.0.0.1'] })
    expect((await request(`POST ${AUTH}/register`, { body: ADA })).status).toBe(201)
    const attempt = async (headers: Record<string, string> = {}) =>
      (await request(`POST ${AUTH}/login`, { body: ADA, headers })).status
    for (let i = 0; i < 60; i++) expect(await attempt()).toBe(200)
    const elsewhere = { 'x-forwarded-for': '203.0.113.7' }
    for (let i = 0; i < 40; i++) expect(await attempt(elsewhere)).toBe(200)
    expect(await attempt(elsewhere)).toBe(429)
  })

  test('a password that could not be checked for lack of time costs no attempt', async () => {
    const state = { isBusy: true }
    const check = async () => (state.isBusy ? 'busy' : false)
    const { request } = openHarness({ passwords: { hash: async () => 'hash', verify: check } })
    const attempt = () => request(`POST ${AUTH}/login`, { body: ADA })
    for (let i = 0; i < 15; i++) expect((await attempt()).status).toBe(429)
    state.isBusy = false
    expect((await attempt()).status).toBe(401)
  })
})

describe('renewing a login', () => {
  test('a renewal gives a new access token with the same refresh token', async () => {
    const { request, enter, clock } = await registered()
    const { refresh_token } = await enter()
    clock.at += 3_601_000
    const { status, body } = await request(`POST ${AUTH}/refresh`, { body: { refresh_token } })
    expect([status, body.refresh_token, body.expires_in]).toEqual([200, refresh_token, 3600])
    expect((await request(`GET ${AUTH}/me`, { token: body.access_token })).status).toBe(200)
  })

  test('a login ends after seven idle days, and after thirty in any case', async () => {
    const { request, enter, clock } = await registered()
    const [idle, busy] = [await enter(), await enter()]
    const renew = async (login: { refresh_token: string }) =>
      (await request(`POST ${AUTH}/refresh`, { body: { refresh_token: login.refresh_token } })).body.code ??
      'ok'
    for (let day = 6; day < 30; day += 6) {
      clock.at = NOW + day * DAY_MS
      expect(await renew(busy)).toBe('ok')
    }
    expect(await renew(idle)).toBe('TOKEN_EXPIRED')
    clock.at = NOW + 30 * DAY_MS
    expect(await renew(busy)).toBe('TOKEN_EXPIRED')
  })

  test('a renewal with an access token or any other text is 401', async () => {
    const { request, enter } = await registered()
    const { access_token } = await enter()
    for (const refresh_token of ['', 'rt_x', '\u0000 \u{1f916}', 'x'.repeat(10_000), access_token]) {
      const { status, body } = await request(`POST ${AUTH}/refresh`, { body: { refresh_token } })
      expect([status, body.code]).toEqual([401, 'UNAUTHENTICATED'])
    }
    expect((await request(`POST ${AUTH}/refresh`, { body: {} })).status).toBe(422)
  })

  test('a login is 503 while the store cannot be written', async () => {
    const { request, engine } = await registered()
    engine.users.fault = new Fault('STORE_UNAVAILABLE', { retryable: true })
    expect((await request(`POST ${AUTH}/login`, { body: ADA })).status).toBe(503)
  })
})

describe('logging out', () => {
  test('a logout ends one login and leaves the others', async () => {
    const { request, enter } = await registered()
    const [one, other] = [await enter(), await enter()]
    const renew = async ({ refresh_token }: { refresh_token: string }) =>
      (await request(`POST ${AUTH}/refresh`, { body: { refresh_token } })).status
    const out = await request(`POST ${AUTH}/logout`, {
      token: one.access_token,
      body: { refresh_token: one.refresh_token },
    })
    expect(out.status).toBe(204)
    expect([await renew(one), await renew(other)]).toEqual([401, 200])
  })

  test('a logout without a refresh token ends all logins of the user and no others', async () => {
    const { request, enter, login } = await registered()
    const [one, other] = [await enter(), await enter()]
    const stranger = await login('viewer')
    const { refresh_token } = one
    await request(`POST ${AUTH}/logout`, { token: stranger.token, body: { refresh_token } })
    await request(`POST ${AUTH}/logout`, { token: stranger.token })
    const renew = async (body: { refresh_token: string }) =>
      (await request(`POST ${AUTH}/refresh`, { body: { refresh_token: body.refresh_token } })).status
    expect([await renew(one), await renew(other)]).toEqual([200, 200])
    await request(`POST ${AUTH}/logout`, { token: one.access_token })
    expect([await renew(one), await renew(other)]).toEqual([401, 401])
  })
})

test('anyone may read the public keys; there are none while a secret signs', async () => {
  const { request } = openHarness()
  const { body, headers } = await request('GET /.well-known/jwks.json')
  expect([body, headers['cache-control']]).toEqual([{ keys: [] }, 'public, max-age=300'])
  const pem = String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const noStore = { getFact: () => undefined, putFact: async () => {} }
  const keys = await openKeyRing({ signing: { kind: 'private_key', pem }, previousKeys: [] }, noStore)
  const { body: published } = await openHarness({ keys }).request('GET /.well-known/jwks.json')
  const { x, kid } = published.keys[0]
  expect(published).toEqual({
    keys: [{ kty: 'OKP', crv: 'Ed25519', x, use: 'sig', alg: 'EdDSA', kid }],
  })
})

describe('tickets for the live stream', () => {
  test('every role gets tickets, which are all different and not cached', async () => {
    const { request, login } = openHarness()
    const { token } = await login('viewer')
    const issue = () => request(`POST ${AUTH}/ws-ticket`, { token })
    const [one, two] = [await issue(), await issue()]
    expect([one.status, one.body.expires_in, one.headers['cache-control']]).toEqual([200, 30, 'no-store'])
    expect(one.body.ticket).toMatch(/^tkt_[\w-]{43}$/)
    expect(two.body.ticket).not.toBe(one.body.ticket)
  })

  test('a ticket reflects its user at the time of its use', async () => {
    const { request, login, engine, tickets } = openHarness()
    const { token, user } = await login('operator')
    const issue = async () => (await request(`POST ${AUTH}/ws-ticket`, { token })).body.ticket
    const [first, second] = [await issue(), await issue()]
    expect(await tickets.redeem(first)).toMatchObject({ kind: 'user', user: { id: user.id } })
    expect(await tickets.redeem(first)).toMatchObject({ code: 'UNAUTHENTICATED' })
    await engine.users.put({ ...user, disabled: true })
    expect(await tickets.redeem(second)).toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})
