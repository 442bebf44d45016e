import { expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { UserId } from '../../schemas/ids.ts'
import { NOW, openHarness } from '../testing/rest.ts'

const KEYS = '/api/v1/api-keys'

async function openWithAdmin() {
  const harness = openHarness()
  const { token, user } = await harness.login('admin')
  const create = async (about: object = {}) =>
    (await harness.request(`POST ${KEYS}`, { token, body: { name: 'ci', role: 'operator', ...about } })).body
  return { ...harness, token, user, create }
}

test('an API key is shown once, and listed with its creator and its last use', async () => {
  const { request, token, user, create, clock } = await openWithAdmin()
  const made = await create({ groups: ['eu'] })
  expect(made).toEqual({
    id: expect.stringMatching(/^key_[0-9a-z]{26}$/),
    api_key: expect.stringMatching(/^flk_[0-9a-z]{26}_[\w-]{43}$/),
    name: 'ci',
    role: 'operator',
    groups: ['eu'],
    created_at: '2026-03-01T12:00:00.500Z',
    created_by: user.id,
    expires_at: null,
    last_used_at: null,
  })
  clock.at += 1_000
  await request('GET /api/v1/devices', { token: made.api_key })
  const { body, text } = await request(`GET ${KEYS}`, { token })
  const { api_key: secret, ...shown } = made
  expect(body).toMatchObject({ total: 1, data: [{ ...shown, last_used_at: '2026-03-01T12:00:01.500Z' }] })
  expect((await request(`GET ${KEYS}/${made.id}`, { token })).body).toEqual(body.data[0])
  expect(text).not.toContain(secret.slice(-43))
  expect(text).not.toMatch(/hash/i)
})

test('an API key can be read at its Location', async () => {
  const { request, token } = await openWithAdmin()
  const { headers } = await request(`POST ${KEYS}`, { token, body: { name: 'ci', role: 'viewer' } })
  expect(headers['cache-control']).toBe('no-store')
  expect((await request(`GET ${headers['location']}`, { token })).status).toBe(200)
})

test('an API key has a role and groups like a user', async () => {
  const { request, create, device } = await openWithAdmin()
  await device('in', { group: 'eu/1' })
  await device('out', { group: 'us' })
  const { api_key: token } = await create({ groups: ['eu'] })
  const { body } = await request('GET /api/v1/devices', { token })
  expect(body.data.map(({ device_id }: { device_id: string }) => device_id)).toEqual(['in'])
  expect((await request('GET /api/v1/devices/out', { token })).status).toBe(404)
  expect((await request('POST /api/v1/commands/in', { token, body: { command: 'go' } })).status).toBe(202)
  expect((await request('DELETE /api/v1/devices/in', { token })).status).toBe(403)
  expect((await request(`GET ${KEYS}`, { token })).status).toBe(403)
  const { api_key: viewer } = await create({ role: 'viewer' })
  expect((await request('POST /api/v1/commands/in', { token: viewer, body: { command: 'go' } })).status).toBe(
    403,
  )
})

test('an API key has a profile but no login to change or end', async () => {
  const { request, create } = await openWithAdmin()
  const { api_key: token, id } = await create()
  const { body } = await request('GET /api/v1/auth/me', { token })
  expect(body).toMatchObject({ id, email: null, name: 'ci', role: 'operator', last_login_at: null })
  expect((await request('PATCH /api/v1/auth/me', { token, body: { name: 'x' } })).status).toBe(403)
  expect((await request('POST /api/v1/auth/logout', { token })).status).toBe(403)
})

test('an API key is void once deleted, and outlives its creator', async () => {
  const { request, token, user, create, engine, login } = await openWithAdmin()
  const other = await login('admin')
  const [one, two] = [await create(), await create()]
  const status = async (key: string) => (await request('GET /api/v1/auth/me', { token: key })).status
  expect((await request(`DELETE ${KEYS}/${one.id}`, { token })).status).toBe(204)
  expect((await request(`DELETE ${KEYS}/${one.id}`, { token })).status).toBe(404)
  expect([await status(one.api_key), await status(two.api_key)]).toEqual([401, 200])
  engine.users.forget(user.id)
  expect(await status(two.api_key)).toBe(200)
  expect((await request(`GET ${KEYS}`, { token: other.token })).body.total).toBe(1)
})

test('an API key expires at its time', async () => {
  const { request, create, clock } = await openWithAdmin()
  const made = await create({ expires_at: '2026-03-01T13:00:00Z' })
  expect(made.expires_at).toBe('2026-03-01T13:00:00.000Z')
  const look = async () => (await request('GET /api/v1/auth/me', { token: made.api_key })).body.code ?? 'ok'
  expect(await look()).toBe('ok')
  clock.at = Date.UTC(2026, 2, 1, 13)
  expect(await look()).toBe('TOKEN_EXPIRED')
})

test('a wrong secret is refused', async () => {
  const { request, create } = await openWithAdmin()
  const [one, two] = [await create(), await create()]
  const mixed = `${one.api_key.slice(0, -43)}${two.api_key.slice(-43)}`
  const wrong = [mixed, one.api_key.slice(0, -1), `${one.api_key}A`, one.api_key.toUpperCase(), one.id]
  for (const token of wrong) expect((await request('GET /api/v1/auth/me', { token })).status).toBe(401)
})

test('the last use is written once a minute, and a failing store refuses no service', async () => {
  const { request, create, engine, clock } = await openWithAdmin()
  const { api_key: token, id } = await create()
  const used = async () => {
    expect((await request('GET /api/v1/auth/me', { token })).status).toBe(200)
    return engine.users.getKey(UserId(id))?.lastUsedAt
  }
  expect(await used()).toBe(NOW)
  clock.at = NOW + 59_999
  expect(await used()).toBe(NOW)
  clock.at = NOW + 60_000
  engine.users.fault = new Fault('STORE_UNAVAILABLE', { retryable: true })
  expect(await used()).toBe(NOW)
  engine.users.fault = undefined
  expect(await used()).toBe(NOW + 60_000)
})

test.each([
  [{ name: undefined }, '/name'],
  [{ role: 'root' }, '/role'],
  [{ role: undefined }, '/role'],
  [{ groups: ['a//b'] }, '/groups/0'],
  [{ expires_at: 'tomorrow' }, '/expires_at'],
  [{ expires_at: '2026-02-30T00:00:00Z' }, '/expires_at'],
  [{ expires_at: '2026-03-01T12:00:00.500Z' }, '/expires_at'],
])('is not made with %j', async (change, path) => {
  const { create, engine } = await openWithAdmin()
  expect((await create(change)).errors[0].path).toBe(path)
  expect(engine.users.listKeys()).toEqual([])
})

test('the number of API keys is limited', async () => {
  const { create, engine, user } = await openWithAdmin()
  const about = { name: 'x', role: 'viewer', groups: [], secretHash: '', createdAt: user.createdAt } as const
  const life = { createdBy: user.id, expiresAt: undefined, lastUsedAt: undefined }
  for (let i = 0; i < LIMITS.apiKeysMax; i++)
    await engine.users.addKey({ ...about, ...life, id: UserId(`key_${i}`) })
  expect(await create()).toMatchObject({ status: 409, code: 'LIMIT_REACHED', limit: LIMITS.apiKeysMax })
})
