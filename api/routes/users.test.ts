import { describe, expect, test } from 'vitest'
import { type HarnessOptions, openHarness, type RestCall } from '../testing/rest.ts'

const USERS = '/api/v1/users'
const AUTH = '/api/v1/auth'
const ADA = { email: 'ada@example.com', password: 'correct horse', name: 'Ada', role: 'operator' }

/** An admin, and Ada, who has registered and logged in. */
async function openWithAda(options: HarnessOptions = {}) {
  const harness = openHarness(options)
  const { request } = harness
  const { token, user: root } = await harness.login('admin')
  const { body: ada } = await request(`POST ${AUTH}/register`, { token, body: ADA })
  const enter = async (password = ADA.password) =>
    (await request(`POST ${AUTH}/login`, { body: { email: ADA.email, password } })).body
  const edit = (body: unknown, id: string = ada.id) => request(`PATCH ${USERS}/${id}`, { token, body })
  const statusWith = async (bearer: string) => (await request(`GET ${AUTH}/me`, { token: bearer })).status
  const renew = async (refresh_token: string) =>
    (await request(`POST ${AUTH}/refresh`, { body: { refresh_token } })).status
  return { ...harness, token, root, ada, enter, edit, statusWith, renew }
}

describe('the list of users', () => {
  async function openList() {
    const harness = openHarness()
    const { token } = await harness.login('admin', { name: 'Zoe' })
    await harness.login('viewer', { name: 'Bob', disabled: true })
    await harness.login('operator', { name: 'bea', email: 'x@example.com' })
    const names = async (query: string) => {
      const { body } = await harness.request(`GET ${USERS}?${query}`, { token })
      return body.data.map(({ name }: { name: string }) => name)
    }
    return { ...harness, token, names }
  }

  test('users are listed in pages with totals and links', async () => {
    const { request, token } = await openList()
    const { body, headers } = await request(`GET ${USERS}?per_page=2&sort=name:ASC`, { token })
    expect(body).toMatchObject({ page: 1, per_page: 2, total: 3, total_pages: 2 })
    expect(body.data[0]).toEqual({
      id: 'usr_operator2',
      email: 'x@example.com',
      name: 'bea',
      role: 'operator',
      groups: [],
      disabled: false,
      created_at: '2026-03-01T12:00:00.500Z',
      last_login_at: null,
    })
    expect(headers['x-total-count']).toBe('3')
    expect(String(headers['link'])).toContain('rel="next"')
  })

  test('users are filtered by role, lock, and the start of name or e-mail, and sorted', async () => {
    const { names } = await openList()
    expect(await names('sort=name:DESC')).toEqual(['Zoe', 'Bob', 'bea'])
    expect(await names('q=B&sort=name')).toEqual(['bea', 'Bob'])
    expect(await names('q=X@exam')).toEqual(['bea'])
    expect(await names('role=viewer')).toEqual(['Bob'])
    expect(await names('disabled=false&sort=email')).toEqual(['Zoe', 'bea'])
    expect(await names('role=viewer&disabled=false')).toEqual([])
  })

  test.each([
    'role=root',
    'sort=passwordHash',
    'sort=name:up',
    'per_page=201',
    'color=red',
    'disabled=maybe',
  ])('takes no %s', async (query) => {
    const { request, token } = await openList()
    expect((await request(`GET ${USERS}?${query}`, { token })).status).toBe(422)
  })
})

describe('an admin', () => {
  test('an admin reads a user and changes its fields', async () => {
    const { request, token, ada, edit } = await openWithAda()
    const change = {
      role: 'viewer',
      name: ' Ada L. ',
      email: 'Lovelace@Example.com',
      groups: ['eu', 'us/west'],
    }
    const { status, body } = await edit(change)
    const expected = {
      role: 'viewer',
      name: 'Ada L.',
      email: 'lovelace@example.com',
      groups: ['eu', 'us/west'],
    }
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ ...expected, id: ada.id, disabled: false }),
    ])
    expect((await request(`GET ${USERS}/${ada.id}`, { token })).body).toEqual(body)
  })

  test('fields that nobody may change are refused and change nothing', async () => {
    const { edit, engine } = await openWithAda()
    const before = engine.users.list()
    const { status, body } = await edit({
      id: 'usr_x',
      created_at: '2020-01-01T00:00:00Z',
      createdAt: 0,
      passwordHash: 'plain:owned',
      password_hash: 'plain:owned',
      tokensValidFrom: 0,
      lastLoginAt: 0,
    })
    expect([status, body.code, body.errors.length]).toEqual([422, 'UNKNOWN_FIELD', 7])
    expect(engine.users.list()).toEqual(before)
  })

  test.each([
    [{ role: 'root' }, '/role'],
    [{ role: null }, '/role'],
    [{ email: 'nobody' }, '/email'],
    [{ password: '1234567' }, '/password'],
    [{ name: ' ' }, '/name'],
    [{ disabled: 'yes' }, '/disabled'],
    [{ groups: 'eu' }, '/groups'],
    [{ groups: ['eu/../us'] }, '/groups/0'],
    [{ groups: ['.'] }, '/groups/0'],
    [{ groups: ['/eu'] }, '/groups/0'],
    [{ groups: ['eu//us'] }, '/groups/0'],
    [{ groups: ['eu/'] }, '/groups/0'],
    [{ groups: ['#'] }, '/groups/0'],
    [{ groups: ['еu'] }, '/groups/0'],
    [{ groups: ['eu', 'eu'] }, '/groups'],
    [{ groups: Array.from({ length: 101 }, (_, i) => `g${i}`) }, '/groups'],
  ])('cannot set %j', async (change, path) => {
    const { edit, engine, ada } = await openWithAda()
    const before = engine.users.get(ada.id)
    const { status, body } = await edit(change)
    expect([status, body.errors[0].path]).toEqual([422, path])
    expect(engine.users.get(ada.id)).toBe(before)
  })

  test('an unknown user is 404, and an existing e-mail is 409', async () => {
    const { edit, root } = await openWithAda()
    expect((await edit({ name: 'x' }, 'usr_nobody')).status).toBe(404)
    expect((await edit({ email: root.email.toUpperCase() })).body.code).toBe('ALREADY_EXISTS')
  })

  test.each([
    ['another password', { password: 'battery staple' }],
    ['another role', { role: 'viewer' }],
    ['a lock', { disabled: true }],
  ])('ends every login of a user with %s, at once', async (_, change) => {
    const { enter, edit, statusWith, renew } = await openWithAda()
    const [one, other] = [await enter(), await enter()]
    expect((await edit(change)).status).toBe(200)
    for (const login of [one, other]) {
      expect(await statusWith(login.access_token)).toBe(401)
      expect(await renew(login.refresh_token)).toBe(401)
    }
  })

  test.each([
    ['the same role', { role: 'operator' }],
    ['another name', { name: 'x' }],
    ['other groups', { groups: ['eu'] }],
    ['nothing', {}],
    ['no lock', { disabled: false }],
  ])('ends no login with %s', async (_, change) => {
    const { enter, edit, statusWith, renew } = await openWithAda()
    const login = await enter()
    await edit(change)
    expect([await statusWith(login.access_token), await renew(login.refresh_token)]).toEqual([200, 200])
  })

  test('an admin sets a new password, and the old one no longer works', async () => {
    const { edit, enter, statusWith } = await openWithAda()
    await edit({ password: 'battery staple' })
    expect((await enter()).code).toBe('INVALID_CREDENTIALS')
    expect(await statusWith((await enter('battery staple')).access_token)).toBe(200)
  })

  test('a user who is enabled again has lost all earlier logins', async () => {
    const { edit, enter, statusWith, renew } = await openWithAda()
    const before = await enter()
    await edit({ disabled: true })
    expect((await enter()).code).toBe('INVALID_CREDENTIALS')
    await edit({ disabled: false })
    expect([await statusWith(before.access_token), await renew(before.refresh_token)]).toEqual([401, 401])
    expect(await statusWith((await enter()).access_token)).toBe(200)
  })

  test('a deleted user’s e-mail is free again, and the tokens are void', async () => {
    const { request, token, ada, enter, statusWith, renew } = await openWithAda()
    const login = await enter()
    expect((await request(`DELETE ${USERS}/${ada.id}`, { token })).status).toBe(204)
    expect([await statusWith(login.access_token), await renew(login.refresh_token)]).toEqual([401, 401])
    expect((await request(`DELETE ${USERS}/${ada.id}`, { token })).status).toBe(404)
    expect((await request(`POST ${AUTH}/register`, { token, body: ADA })).status).toBe(201)
  })

  test('the last admin cannot be removed until there is another', async () => {
    const { request, token, edit, root, ada } = await openWithAda()
    const refused = [
      await edit({ role: 'viewer' }, root.id),
      await edit({ disabled: true }, root.id),
      await request(`DELETE ${USERS}/${root.id}`, { token }),
    ]
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual(Array(3).fill([409, 'LAST_ADMIN']))
    expect((await edit({ name: 'Root' }, root.id)).status).toBe(200)
    await edit({ role: 'admin' })
    expect((await edit({ role: 'viewer' }, root.id)).status).toBe(200)
    expect(ada.id).toBeDefined()
  })

  test('a new password is refused for a moment while too many passwords are hashed', async () => {
    const busy = { hash: async () => 'busy' as const, verify: async () => true }
    const { login, request } = openHarness({ passwords: busy })
    const { token, user } = await login('admin')
    const body = { password: 'battery staple' }
    expect((await request(`PATCH ${USERS}/${user.id}`, { token, body })).status).toBe(429)
  })
})

describe('of their own account, anyone', () => {
  test('a user changes the name, and with the current password e-mail and password', async () => {
    const { request, enter } = await openWithAda()
    const { access_token: token } = await enter()
    const own = (body: unknown) => request(`PATCH ${AUTH}/me`, { token, body })
    expect((await own({ name: 'Ada L.' })).body.name).toBe('Ada L.')
    const unproven = await own({ password: 'battery staple' })
    expect([unproven.status, unproven.body.errors[0]]).toEqual([
      422,
      expect.objectContaining({ path: '/current_password', code: 'REQUIRED' }),
    ])
    const wrong = await own({ email: 'x@y.z', current_password: 'wrong horse' })
    expect([wrong.status, wrong.body.errors[0].code]).toEqual([422, 'WRONG_PASSWORD'])
    const email = await own({ email: 'X@y.z', current_password: ADA.password })
    expect(email.body.email).toBe('x@y.z')
    const password = await own({ password: 'battery staple', current_password: ADA.password })
    expect(password.status).toBe(200)
    expect((await own({ name: 'x' })).status).toBe(401)
    const login = { email: 'x@y.z', password: 'battery staple' }
    expect((await request(`POST ${AUTH}/login`, { body: login })).status).toBe(200)
  })

  test('a user cannot change their own rights', async () => {
    const { request, enter, engine, ada } = await openWithAda()
    const { access_token: token } = await enter()
    const before = engine.users.get(ada.id)
    const rights = { role: 'admin', groups: ['x'], disabled: true, id: 'usr_x', passwordHash: 'plain:owned' }
    const { body } = await request(`PATCH ${AUTH}/me`, { token, body: { ...rights, name: 'x' } })
    expect([body.code, body.errors.length]).toEqual(['UNKNOWN_FIELD', 5])
    expect(engine.users.get(ada.id)).toEqual(before)
    expect((await request(`PATCH ${USERS}/${ada.id}`, { token, body: { role: 'admin' } })).status).toBe(403)
  })

  test('a user may try the current password ten times a minute', async () => {
    const { request, enter } = await openWithAda()
    const { access_token: token } = await enter()
    const guess = async () => {
      const body = { email: 'x@y.z', current_password: 'wrong horse' }
      return (await request(`PATCH ${AUTH}/me`, { token, body })).status
    }
    for (let i = 0; i < 10; i++) expect(await guess()).toBe(422)
    expect(await guess()).toBe(429)
  })
})

test('internal fields are in no answer about users', async () => {
  const { request, token, ada, enter } = await openWithAda()
  const login = await enter()
  const calls: readonly (readonly [string, RestCall])[] = [
    [`GET ${USERS}`, { token }],
    [`GET ${USERS}/${ada.id}`, { token }],
    [`PATCH ${USERS}/${ada.id}`, { token, body: { name: 'x' } }],
    [`PATCH ${USERS}/${ada.id}`, { token, body: { email: 'broken', password: 'canary-1' } }],
    [`GET ${AUTH}/me`, { token: login.access_token }],
    [`PATCH ${AUTH}/me`, { token: login.access_token, body: { name: 'y' } }],
    [`POST ${AUTH}/register`, { body: { ...ADA, email: 'b@c.d', password: 'canary-2 long enough' } }],
    [`POST ${AUTH}/login`, { body: { email: ADA.email, password: 'canary-3' } }],
    [`DELETE ${USERS}/${ada.id}`, { token }],
  ]
  for (const [line, sent] of calls) {
    const { text, headers } = await request(line, sent)
    expect(text + JSON.stringify(headers)).not.toMatch(
      /password_?hash|tokens_?valid_?from|token_?hash|secret_?hash|family|plain:|\$argon2|canary-/i,
    )
  }
})

test.each([
  ['locked', undefined, 403],
  ['bootstrap', undefined, 403],
  ['locked', 'operator', 403],
  ['locked', 'admin', 201],
] as const)('in %s mode only an admin may choose the role (%s)', async (registration, role, status) => {
  const { login, request, engine } = openHarness({ registration })
  await login('admin')
  const token = role === undefined ? undefined : (await login(role)).token
  const body = { ...ADA, role: 'admin' }
  expect((await request(`POST ${AUTH}/register`, { token, body })).status).toBe(status)
  expect(engine.users.getByEmail(ADA.email)?.role).toBe(status === 201 ? 'admin' : undefined)
})
