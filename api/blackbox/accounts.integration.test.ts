// Users, logins and keys of a whole service: a revocation takes effect at once and for good.
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROFILE, type Service, ServiceHarness } from './testing/service.ts'
import { connectDevice, watch } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const pemOf = (key: KeyObject) => String(key.export({ type: 'pkcs8', format: 'pem' }))
const FIRST_KEY = pemOf(generateKeyPairSync('ed25519').privateKey)
const NEXT_KEY = pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
const ADA = { email: 'ada@example.com', password: 'correct horse', name: 'Ada', role: 'operator' }

const harness = new ServiceHarness()
let service: Service
let admin: Rest
let ada: string
beforeAll(async () => {
  service = await harness.start({ FLEET_JWT_PRIVATE_KEY: FIRST_KEY, FLEET_REFRESH_ROTATION: 'on' })
  admin = await service.admin()
  ada = String((await admin.post('/auth/register', ADA)).body['id'])
})
afterAll(() => harness.close())

async function enter() {
  const { status, body } = await service.nobody.post('/auth/login', ADA)
  return {
    status,
    rest: service.nobody.as(String(body['access_token'])),
    refresh: String(body['refresh_token']),
  }
}
const statusOf = async (rest: Rest) => (await rest.get('/auth/me')).status
const renew = (refresh_token: string) => service.nobody.post('/auth/refresh', { refresh_token })
const edit = (body: object) => admin.call('PATCH', `/users/${ada}`, body)

/** Resolves with the code with which a socket is closed after `act`. */
async function closeCode(rest: Rest, act: () => Promise<unknown>): Promise<unknown> {
  const { socket } = await watch(service, rest)
  const closed = once(socket, 'close')
  await act()
  const [code] = await closed
  return code
}

test('a lock ends logins, access tokens and open sockets at once, and survives a crash', async () => {
  const { rest, refresh } = await enter()
  expect(await statusOf(rest)).toBe(200)
  expect(await closeCode(rest, () => edit({ disabled: true }))).toBe(4401)
  service.signalAll('SIGKILL')
  service = await service.again()
  admin = service.nobody.as(admin.token ?? '')
  expect([await statusOf(rest), (await renew(refresh)).status]).toEqual([401, 401])
  expect((await enter()).status).toBe(401)
  expect((await edit({ disabled: false })).status).toBe(200)
  expect((await enter()).status).toBe(200)
})

test.each([
  ['another role', () => edit({ role: 'viewer' })],
  ['another password', () => edit({ password: ADA.password })],
])('%s ends an open socket', async (_, act) => {
  expect(await closeCode((await enter()).rest, act)).toBe(4401)
})

test('a logout ends the sockets of its own login and leaves the other open', async () => {
  const [one, other] = [await enter(), await enter()]
  const { socket } = await watch(service, other.rest)
  const code = await closeCode(one.rest, () => one.rest.post('/auth/logout', { refresh_token: one.refresh }))
  expect([code, socket.readyState]).toEqual([4401, socket.OPEN])
  expect([await statusOf(one.rest), await statusOf(other.rest)]).toEqual([401, 200])
  socket.terminate()
})

test('a password that everybody guesses first is refused, for a new account and for an old one', async () => {
  const eve = { ...ADA, email: 'eve@example.com' }
  const answers = [
    await admin.post('/auth/register', { ...eve, password: 'password1' }),
    await admin.post('/auth/register', { ...eve, password: eve.email }),
    await edit({ password: '12345678' }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([422, 422, 422])
  expect((await enter()).status).toBe(200)
})

test('a login is renewed by its refresh token alone', async () => {
  const { rest } = await enter()
  for (const other of [String(rest.token), String(admin.token), 'rubbish', ''])
    expect([other, (await renew(other)).status]).toEqual([other, 401])
})

test('a refresh token is replaced at each use, also across a restart', async () => {
  const { refresh } = await enter()
  const { body } = await renew(refresh)
  const next = String(body['refresh_token'])
  expect(next).not.toBe(refresh)
  service.signalAll('SIGKILL')
  service = await service.again()
  admin = service.nobody.as(admin.token ?? '')
  expect((await renew(next)).status).toBe(200)
})

test('an API key opens REST and /ws within its groups, until it is deleted', async () => {
  await registerDevice(admin, 'in', { group: 'eu/1' })
  await registerDevice(admin, 'out', { group: 'us' })
  const { body } = await admin.post('/api-keys', { name: 'ci', role: 'viewer', groups: ['eu'] })
  const key = service.nobody.as(String(body['api_key']))
  expect((await key.get('/devices')).body).toMatchObject({ total: 1, data: [{ device_id: 'in' }] })
  const watcher = await watch(service, key)
  await watcher.subscribe('s1', 'devices', { snapshot: true })
  const { data } = await watcher.next('a snapshot', ({ type }) => type === 'snapshot')
  expect(JSON.stringify(data)).toContain('"in"')
  expect(JSON.stringify(data)).not.toContain('"out"')
  const closed = once(watcher.socket, 'close')
  expect((await admin.call('DELETE', `/api-keys/${body['id']}`)).status).toBe(204)
  expect((await closed)[0]).toBe(4401)
  expect(await statusOf(key)).toBe(401)
})

test('a new signing key replaces a former one: tokens of both count, and both public keys are listed', async () => {
  const token = await registerDevice(admin, 'robot-1')
  const { rest } = await enter()
  service.kill('SIGTERM')
  await service.ended
  service = await service.again({ FLEET_JWT_PRIVATE_KEY: NEXT_KEY, FLEET_JWT_PREVIOUS_KEYS: FIRST_KEY })
  expect(await statusOf(service.nobody.as(rest.token ?? ''))).toBe(200)
  // EMQX cannot verify the first key's kind.
  if (PROFILE === 'embedded') await (await connectDevice(service, 'robot-1', token)).endAsync(true)
  const { body } = await service.nobody.get('//.well-known/jwks.json')
  expect(body['keys']).toMatchObject([{ alg: 'RS256' }, { alg: 'EdDSA' }])
  const fresh = await enter()
  service.kill('SIGTERM')
  await service.ended
  service = await service.again({ FLEET_JWT_PREVIOUS_KEYS: '' })
  const [old, now] = [rest, fresh.rest].map(({ token: bearer }) => service.nobody.as(bearer ?? ''))
  expect([old && (await statusOf(old)), now && (await statusOf(now))]).toEqual([401, 200])
})
