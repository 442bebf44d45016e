import { expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { parseDeviceId, UserId } from '../../schemas/ids.ts'
import { API_LIMITS } from '../limits.ts'
import { openHarness } from '../testing/rest.ts'

const KEYS = '/api/v1/auth/provisioning-keys'
const PROVISION = 'POST /api/v1/auth/provision'

async function openWithAdmin() {
  const harness = openHarness()
  const { token, user } = await harness.login('admin')
  const create = async (about: object = {}) => {
    const body = { type: 'mqtt_device', group: 'line/3', limit: 2, ...about }
    return (await harness.request(`POST ${KEYS}`, { token, body })).body
  }
  const provision = async (key: string, deviceId: string, more: object = {}) => {
    const { status, body } = await harness.request(PROVISION, {
      body: { key, device_id: deviceId, ...more },
    })
    return { status, body, code: body.code }
  }
  const taken = async (id: string) => (await harness.request(`GET ${KEYS}/${id}`, { token })).body.taken
  return { ...harness, token, user, create, provision, taken }
}

test('a provisioning key is shown once', async () => {
  const { request, token, user, create } = await openWithAdmin()
  const made = await create({ name: 'Line 3', id_pattern: 'robot-*' })
  expect(made).toEqual({
    id: expect.stringMatching(/^prk_[0-9a-z]{26}$/),
    key: expect.stringMatching(/^flp_[0-9a-z]{26}_[\w-]{43}$/),
    ...{ name: 'Line 3', type: 'mqtt_device', group: 'line/3', limit: 2, taken: 0, pending: 0 },
    ...{ id_pattern: 'robot-*', approval: false, created_at: '2026-03-01T12:00:00.500Z' },
    created_by: user.id,
    expires_at: '2026-03-31T12:00:00.500Z',
  })
  const { key, ...shown } = made
  const { body, text } = await request(`GET ${KEYS}`, { token })
  expect(body).toMatchObject({ total: 1, data: [shown] })
  expect((await request(`GET ${KEYS}/${made.id}`, { token })).body).toEqual({ ...shown, waiting: [] })
  expect(text).not.toContain(key.slice(-43))
  expect(text).not.toMatch(/hash/i)
})

test('no key is created from invalid fields', async () => {
  const { create, engine } = await openWithAdmin()
  for (const [about, path] of [
    [{ limit: 0 }, '/limit'],
    [{ limit: LIMITS.provisionedDevicesMax + 1 }, '/limit'],
    [{ type: 'toaster' }, '/type'],
    [{ id_pattern: '(a+)+$' }, '/id_pattern'],
    [{ ttl_sec: 1 }, '/ttl_sec'],
    [{ ttl_sec: 60, expires_at: '2026-03-02T00:00:00Z' }, '/ttl_sec'],
    [{ expires_at: '2026-03-01T12:00:00.500Z' }, '/expires_at'],
    [{ expires_at: '2036-03-01T12:00:00Z' }, '/expires_at'],
  ] as const)
    expect([about, (await create(about)).errors[0].path]).toEqual([about, path])
  expect(engine.users.listProvisioningKeys()).toEqual([])
})

test('a device registers itself with type and group of the key, and its token is valid', async () => {
  const { create, provision, engine, tokens, taken } = await openWithAdmin()
  const { key, id } = await create()
  const { status, body } = await provision(key, 'robot-1', { name: 'Robot 1' })
  expect([status, body]).toEqual([
    201,
    {
      ...{ device_id: 'robot-1', type: 'mqtt_device', group: 'line/3', mqtt_endpoint: expect.any(String) },
      ...{ mqtt_token: expect.any(String), expires_at: expect.stringMatching(/^2027-/) },
    },
  ])
  const device = engine.devices.get(parseDeviceId('robot-1') ?? expect.fail())
  expect(device).toMatchObject({ name: 'Robot 1', status: 'provisioning', createdBy: id })
  expect(await tokens.verifyDevice(body.mqtt_token)).toMatchObject({ claims: { deviceId: 'robot-1' } })
  expect(await taken(id)).toBe(1)
  expect((await provision(key, 'robot-2')).body).toMatchObject({ device_id: 'robot-2' })
  expect((await provision(key, 'robot-3')).code).toBe('PROVISIONING_KEY_USED_UP')
})

test('a device that asks again before it connects gets a token that revokes the first, and none afterwards', async () => {
  const { create, provision, engine, tokens, taken, token, request } = await openWithAdmin()
  const { key, id } = await create()
  const first = await provision(key, 'robot-1')
  const again = await provision(key, 'robot-1')
  expect([first.status, again.status, await taken(id)]).toEqual([201, 200, 1])
  const deviceId = parseDeviceId('robot-1') ?? expect.fail()
  const isGood = async (mqtt_token: string) =>
    (await request('POST /api/v1/auth/devices/token/renew', { body: { mqtt_token } })).status
  expect([await isGood(first.body.mqtt_token), await isGood(again.body.mqtt_token)]).toEqual([401, 200])
  await engine.publish(deviceId, 'telemetry', { m: 1 })
  const late = await provision(key, 'robot-1')
  expect(late).toMatchObject({ status: 409, code: 'ALREADY_EXISTS' })
  expect(late.body.detail).toContain('connected before')
  expect(await isGood(again.body.mqtt_token)).toBe(200)
  await request('DELETE /api/v1/devices/robot-1', { token })
  expect((await provision(key, 'robot-1')).code).toBe('DEVICE_DECOMMISSIONED')
  expect(await tokens.verifyDevice(again.body.mqtt_token)).toMatchObject({ kind: 'valid' })
})

test('a crash after counting loses no place, and a second try takes no further one', async () => {
  const { create, provision, engine, clock } = await openWithAdmin()
  const { key, id } = await create({ limit: 1 })
  const submit = engine.submit.bind(engine)
  engine.submit = () => Promise.reject(new Error('the process dies here'))
  expect((await provision(key, 'robot-1')).status).toBe(500)
  engine.submit = submit
  expect(engine.users.getProvisioningKey(UserId(id))?.taken).toBe(1)
  clock.at += 3_600_000
  expect((await provision(key, 'robot-2')).code).toBe('PROVISIONING_KEY_USED_UP')
  expect((await provision(key, 'robot-1')).status).toBe(201)
})

test('a device that was registered without the key is refused, and takes no place', async () => {
  const { create, provision, device, taken } = await openWithAdmin()
  const [one, two] = [await create(), await create()]
  await device('theirs')
  await provision(one.key, 'robot-1')
  for (const [key, deviceId] of [
    [one.key, 'theirs'],
    [two.key, 'robot-1'],
  ])
    expect(await provision(key, deviceId)).toMatchObject({ status: 409, code: 'ALREADY_EXISTS' })
  expect([await taken(one.id), await taken(two.id)]).toEqual([1, 0])
})

test('a device waits for approval and is told when to retry, and rejecting it frees its place', async () => {
  const { create, provision, request, token, taken } = await openWithAdmin()
  const { key, id } = await create({ approval: true })
  const { headers, body } = await request(PROVISION, { body: { key, device_id: 'robot-1' } })
  expect([body.code, headers['retry-after']]).toEqual(['PROVISIONING_PENDING', '30'])
  await provision(key, 'robot-2')
  const waiting = (await request(`GET ${KEYS}/${id}`, { token })).body
  expect(waiting).toMatchObject({
    pending: 2,
    waiting: [
      { device_id: 'robot-1', status: 'pending', ip: '127.0.0.1' },
      { device_id: 'robot-2', status: 'pending' },
    ],
  })
  const approved = await request(`POST ${KEYS}/${id}/devices/robot-1/approve`, { token })
  expect(approved.body).toMatchObject({ device_id: 'robot-1', status: 'approved' })
  expect((await provision(key, 'robot-1')).status).toBe(201)
  expect((await request(`DELETE ${KEYS}/${id}/devices/robot-2`, { token })).status).toBe(204)
  // The device is registered, so it has no place that could be freed.
  expect((await request(`DELETE ${KEYS}/${id}/devices/robot-1`, { token })).status).toBe(404)
  expect(await taken(id)).toBe(1)
  expect((await request(`POST ${KEYS}/${id}/devices/robot-9/approve`, { token })).status).toBe(404)
})

test('a key that is wrong, expired or deleted says so', async () => {
  const { create, provision, request, token, clock } = await openWithAdmin()
  const [one, two] = [await create(), await create({ ttl_sec: 60, id_pattern: 'robot-?' })]
  const mixed = `${one.key.slice(0, -43)}${two.key.slice(-43)}`
  for (const key of [mixed, one.key.slice(0, -1), `${one.key}A`, one.key.toUpperCase(), one.id, 'x'])
    expect(await provision(key, 'robot-1')).toMatchObject({ status: 401, code: 'PROVISIONING_KEY_INVALID' })
  expect((await provision(two.key, 'robot-10')).code).toBe('PROVISIONING_ID_NOT_ALLOWED')
  clock.at += 60_000
  expect((await provision(two.key, 'robot-1')).code).toBe('PROVISIONING_KEY_EXPIRED')
  expect((await request(`DELETE ${KEYS}/${one.id}`, { token })).status).toBe(204)
  expect((await request(`DELETE ${KEYS}/${one.id}`, { token })).status).toBe(404)
  expect((await provision(one.key, 'robot-1')).code).toBe('PROVISIONING_KEY_INVALID')
})

test('a provisioning key is not a bearer token, and no bearer token is a provisioning key', async () => {
  const { create, provision, request, token } = await openWithAdmin()
  const { key } = await create()
  expect((await request('GET /api/v1/devices', { token: key })).status).toBe(401)
  expect((await provision(token, 'robot-1')).code).toBe('PROVISIONING_KEY_INVALID')
})

test('each key has a rate limit of its own', async () => {
  const { create, provision } = await openWithAdmin()
  const [one, two] = [await create({ approval: true, limit: 100 }), await create()]
  const codes = []
  for (let i = 0; i <= API_LIMITS.provisionsPerSecMax; i++) codes.push((await provision(one.key, 'r')).code)
  expect(codes.at(-2)).toBe('PROVISIONING_PENDING')
  expect(codes.at(-1)).toBe('RATE_LIMIT_EXCEEDED')
  expect((await provision(two.key, 'other')).status).toBe(201)
})

test('the audit names the key that registered a device, and the key itself appears nowhere', async () => {
  const { create, provision, engine } = await openWithAdmin()
  const { key, id } = await create({ name: 'Line 3', limit: 1 })
  await provision(key, 'robot-1')
  await provision(key, 'robot-2')
  const entries = engine.recorded.filter(({ action }) => action === 'provisionDevice')
  const actor = { type: 'provisioning_key', id, name: 'Line 3' }
  expect(entries).toContainEqual(
    expect.objectContaining({
      actor,
      outcome: 'refused',
      code: 'PROVISIONING_KEY_USED_UP',
      deviceId: 'robot-2',
    }),
  )
  expect(entries.some(({ outcome, target }) => outcome === 'success' && target === 'devices/robot-1')).toBe(
    true,
  )
  expect(JSON.stringify(engine.recorded)).not.toContain(key.slice(-43))
})
