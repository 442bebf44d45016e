import { expect, test } from 'vitest'
import { Fault } from '../../engine/ports/fault.ts'
import { OPERATIONS } from '../../schemas/operations/all.ts'
import type { Logger } from '../logger.ts'
import { openHarness } from '../testing/rest.ts'

const CANARY = 'hunter2-canary'
const REGISTER = 'POST /api/v1/devices'
const robot = { device_id: 'r', name: CANARY, type: 'mqtt_device', metadata: { secret: CANARY } }

test('a change is recorded with who did what to what, and with the names of the fields', async () => {
  const { engine, login, request } = openHarness()
  const { user, token } = await login('admin')
  const headers = { 'x-request-id': 'req-1' }
  await request(REGISTER, { token, body: robot, headers })
  await request('PATCH /api/v1/devices/r', { token, body: { tags: [CANARY], description: CANARY } })
  await request('DELETE /api/v1/devices/r', { token })
  const actor = { type: 'user', id: user.id, name: user.email }
  const about = { actor, outcome: 'success', code: undefined, ip: '127.0.0.1' }
  expect(engine.recorded).toMatchObject([
    {
      ...about,
      action: 'registerDevice',
      target: 'devices/r',
      deviceId: 'r',
      requestId: 'req-1',
      detail: { fields: ['device_id', 'name', 'type', 'metadata'] },
    },
    {
      ...about,
      action: 'editDevice',
      target: 'devices/r',
      deviceId: 'r',
      detail: { fields: ['tags', 'description'] },
    },
    { ...about, action: 'decommissionDevice', target: 'devices/r', deviceId: 'r', detail: {} },
  ])
  expect(JSON.stringify(engine.recorded)).not.toContain(CANARY)
})

test('a refusal of a known caller is recorded with its code', async () => {
  const { engine, device, login, request } = openHarness()
  await device('r')
  const viewer = await login('viewer')
  const admin = await login('admin')
  await request('DELETE /api/v1/devices/r', { token: viewer.token })
  await request('DELETE /api/v1/devices/gone', { token: admin.token })
  await request(REGISTER, { token: admin.token, body: { name: 7 } })
  await request(REGISTER, { token: admin.token, body: '{"', headers: { 'content-type': 'application/json' } })
  expect(
    engine.recorded.map(({ action, actor, outcome, code }) => [action, actor.id, outcome, code]),
  ).toEqual([
    ['decommissionDevice', viewer.user.id, 'refused', 'FORBIDDEN'],
    ['decommissionDevice', admin.user.id, 'refused', 'NOT_FOUND'],
    ['registerDevice', admin.user.id, 'refused', 'VALIDATION_FAILED'],
    ['registerDevice', admin.user.id, 'refused', 'BAD_REQUEST'],
  ])
})

test('a refusal of an unknown caller records nothing that the caller could choose', async () => {
  const { engine, request } = openHarness()
  await request(`DELETE /api/v1/devices/${CANARY}`)
  await request(REGISTER, { token: CANARY, body: robot })
  await request('POST /api/v1/auth/login', { body: { email: CANARY, password: CANARY } })
  expect(engine.recorded).toMatchObject([
    { action: 'decommissionDevice', code: 'UNAUTHENTICATED', ip: '127.0.0.1' },
    { action: 'registerDevice', code: 'UNAUTHENTICATED' },
    { action: 'login', code: 'INVALID_CREDENTIALS' },
  ])
  expect(engine.recorded.map(({ actor }) => actor)).toEqual([0, 1, 2].map(() => ({ type: 'anonymous' })))
  expect(JSON.stringify(engine.recorded)).not.toContain(CANARY)
})

test('a login is recorded for its user, and a failed one for the e-mail that was tried', async () => {
  const { engine, login, request } = openHarness()
  const { user } = await login('viewer')
  const send = (body: object) => request('POST /api/v1/auth/login', { body })
  const { body } = await send({ email: user.email, password: 'correct horse' })
  await send({ email: user.email.toUpperCase(), password: CANARY })
  await request('POST /api/v1/auth/refresh', { body: { refresh_token: body.refresh_token } })
  const known = { type: 'user', id: user.id, name: user.email }
  expect(engine.recorded.map(({ action, outcome, actor }) => [action, outcome, actor])).toEqual([
    ['login', 'success', known],
    ['login', 'refused', { type: 'anonymous', name: user.email }],
    ['refresh', 'success', known],
  ])
  expect(engine.recorded[1]?.target).toBe(`users/${user.id}`)
  expect(JSON.stringify(engine.recorded)).not.toContain(CANARY)
  expect(JSON.stringify(engine.recorded)).not.toContain(body.refresh_token)
})

test('field names that callers choose are bounded in number and length', async () => {
  const { engine, device, login, request } = openHarness()
  await device('r')
  const { token } = await login('admin')
  const body = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`${i}-${'x'.repeat(100)}`, i]))
  await request('PUT /api/v1/shadows/r/desired', { token, body })
  const fields = engine.recorded[0]?.detail?.['fields']
  expect(fields).toHaveLength(50)
  expect(JSON.stringify(fields).length).toBeLessThan(4_000)
})

test('reads are not recorded', async () => {
  const { engine, device, login, request } = openHarness()
  await device('r')
  const { token } = await login('viewer')
  for (const path of ['devices', 'devices/r', 'auth/me', 'nowhere'])
    await request(`GET /api/v1/${path}`, { token })
  await request('POST /api/v1/nowhere', { token })
  expect(engine.recorded).toEqual([])
})

test('every operation but reads is recorded, and provisioning writes an entry of its own that names the key', () => {
  const silent = Object.values(OPERATIONS).filter(
    (operation) => operation.method !== 'GET' && 'isAudited' in operation && !operation.isAudited,
  )
  expect(silent.map(({ operationId }) => operationId).sort()).toEqual([
    'getLatestOfMany',
    'provisionDevice',
    'testAlertRule',
  ])
})

test('a call whose entry cannot be kept is answered, and the entry is logged', async () => {
  const errors: unknown[] = []
  const logger: Logger = {
    ...{ debug: () => {}, info: () => {}, warn: () => {} },
    error: (fields: unknown) => void errors.push(fields),
  }
  const { engine, login, request } = openHarness({ logger })
  const { token } = await login('admin')
  engine.record = () => Promise.reject(new Fault('STORE_UNAVAILABLE', { retryable: true }))
  const body = { email: 'new@example.com', password: CANARY, name: 'x', role: 'viewer' }
  expect((await request('POST /api/v1/auth/register', { token, body })).status).toBe(201)
  expect(errors).toMatchObject([{ entry: { action: 'register', target: expect.stringMatching(/^users\//) } }])
})

test('a change that failed is recorded, whether or not it took effect', async () => {
  const { engine, device, login, request } = openHarness()
  await device('r')
  const { token } = await login('admin')
  engine.submit = () => Promise.reject(new Fault('LOG_UNAVAILABLE', { retryable: true }))
  expect((await request('PATCH /api/v1/devices/r', { token, body: { name: 'x' } })).status).toBe(503)
  expect(engine.recorded).toMatchObject([
    { action: 'editDevice', outcome: 'failed', code: 'DEPENDENCY_UNAVAILABLE', target: 'devices/r' },
  ])
})

test('a change decided by a device passes its entry to the engine, and no other entry is written', async () => {
  const { engine, login, request } = openHarness()
  const { token } = await login('admin')
  await request(REGISTER, { token, body: robot })
  await request(REGISTER, { token, body: robot })
  await request('POST /api/v1/commands/r', { token, body: { command: 'go', data: { secret: CANARY } } })
  expect(engine.recorded.map(({ action, outcome, deviceId }) => [action, outcome, deviceId])).toEqual([
    ['registerDevice', 'success', 'r'],
    ['registerDevice', 'refused', 'r'],
    ['sendCommand', 'success', 'r'],
  ])
  expect(engine.recorded.at(-1)?.target).toMatch(/^commands\/r\/cmd_/)
  expect(JSON.stringify(engine.recorded)).not.toContain(CANARY)
})
