// Devices register themselves with a provisioning key, from outside: over REST, over MQTT where the broker is the service's
// own, and from the command line.
import { connectAsync } from 'mqtt'
import { afterAll, describe, expect } from 'vitest'
import { provision as getToken, memoryStorage } from '../../engine/edge/device/index.ts'
import { openCliHarness } from '../cli/testing/cli.ts'
import { applied, PROFILE, type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, knock, publish } from './testing/service-clients.ts'
import type { Answer, Rest } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const KEYS = '/auth/provisioning-keys'
const harness = new ServiceHarness()
const cli = openCliHarness()
let service: Service
let admin: Rest

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
})
afterAll(async () => {
  await Promise.all([harness.close(), cli.close()])
})

async function create(about: object = {}): Promise<{ readonly id: string; readonly key: string }> {
  const { status, body } = await admin.post(KEYS, {
    type: 'mqtt_device',
    group: 'line/3',
    limit: 5,
    ...about,
  })
  expect(status).toBe(201)
  return { id: String(body['id']), key: String(body['key']) }
}

const provision = (key: string, deviceId: string): Promise<Answer> =>
  service.nobody.post('/auth/provision', { key, device_id: deviceId })
const codeOf = ({ status, body }: Answer) => body['code'] ?? status
const takenOf = async (id: string) => (await admin.get(`${KEYS}/${id}`)).body['taken']

test('a device that nobody has registered gets its token with a key, and is online', async () => {
  const { key, id } = await create({ id_pattern: 'line-*' })
  const { status, body } = await provision(key, 'line-1')
  expect(status).toBe(201)
  const device = await connectDevice(service, 'line-1', String(body['mqtt_token']))
  await publish(device, 'line-1', { m: 1 })
  await applied(async () =>
    expect((await admin.get('/devices/line-1')).body).toMatchObject({ status: 'online', group: 'line/3' }),
  )
  const late = await provision(key, 'line-1')
  expect([late.status, codeOf(late)]).toEqual([409, 'ALREADY_EXISTS'])
  expect(codeOf(await provision(key, 'other-1'))).toBe('PROVISIONING_ID_NOT_ALLOWED')
  expect(codeOf(await provision(`${key.slice(0, -1)}-`, 'line-2'))).toBe('PROVISIONING_KEY_INVALID')
  expect(await takenOf(id)).toBe(1)
  await device.endAsync()
})

test('a key for twenty devices registers twenty of fifty that ask at once', async () => {
  const { key, id } = await create({ limit: 20 })
  const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => provision(key, `race-${i}`)))
  const codes = answers.map(codeOf)
  expect(codes.filter((code) => code === 201)).toHaveLength(20)
  expect(codes.filter((code) => code === 'PROVISIONING_KEY_USED_UP')).toHaveLength(30)
  expect(await takenOf(id)).toBe(20)
  expect((await admin.get('/devices?q=race-&per_page=200')).body).toMatchObject({ total: 20 })
})

test('a device that asks many times at once has one good token, and one place', async () => {
  const { key, id } = await create()
  const answers = await Promise.all(Array.from({ length: 6 }, () => provision(key, 'eager')))
  const tokens = answers.flatMap(({ body }) =>
    typeof body['mqtt_token'] === 'string' ? [body['mqtt_token']] : [],
  )
  expect(tokens.length).toBeGreaterThan(0)
  const renewals = await Promise.all(
    tokens.map((token) => service.nobody.post('/auth/devices/token/renew', { mqtt_token: token })),
  )
  expect(renewals.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(await takenOf(id)).toBe(1)
})

test('what a key has registered and counted outlives a kill -9', async () => {
  const { key, id } = await create({ limit: 2 })
  const first = await provision(key, 'survivor-1')
  const second = provision(key, 'survivor-2').catch(() => undefined)
  if (PROFILE === 'embedded') service.signalAll('SIGKILL')
  else service.kill('SIGKILL')
  const { stderr } = await service.ended
  await second
  expect(stderr).not.toContain(key.slice(-43))
  service = await service.again()
  admin = await service.admin()
  expect(codeOf(await provision(key, 'survivor-1'))).toBe(200)
  expect([200, 201]).toContain(codeOf(await provision(key, 'survivor-2')))
  expect(codeOf(await provision(key, 'survivor-3'))).toBe('PROVISIONING_KEY_USED_UP')
  expect([first.status, await takenOf(id)]).toEqual([201, 2])
})

test('the device library gets a token once it is approved, and keeps it over a restart', async () => {
  const { key, id } = await create({ approval: true })
  const storage = memoryStorage()
  const waits: number[] = []
  const wait = async (ms: number) => {
    waits.push(ms)
    await admin.post(`${KEYS}/${id}/devices/library-1/approve`, undefined)
  }
  const options = { url: service.httpUrl, key, deviceId: 'library-1', storage, wait }
  const token = await getToken(options)
  expect(waits).toEqual([30_000])
  const device = await connectDevice(service, 'library-1', token)
  await publish(device, 'library-1', { m: 1 })
  await device.endAsync()
  expect(await getToken(options)).toBe(token)
  const other = getToken({ ...options, key: 'flp_x', deviceId: 'library-2' })
  await expect(other).rejects.toMatchObject({ code: 'PROVISIONING_KEY_INVALID' })
})

test('the command line makes a key, shows who waits, approves and deletes', async () => {
  const env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: admin.token ?? '' }
  const fleet = (...args: readonly string[]) => cli.run(['provisioning-keys', ...args], { env })
  const made = await fleet('create', '--type', 'mqtt_device', '--devices', '2', '--approval', '--json')
  const { id, key } = JSON.parse(made.stdout)
  expect(codeOf(await provision(key, 'waiting-1'))).toBe('PROVISIONING_PENDING')
  expect(codeOf(await provision(key, 'waiting-2'))).toBe('PROVISIONING_PENDING')
  const { stdout } = await fleet('pending')
  expect(stdout).toMatch(/waiting-1[\s\S]*waiting-2/)
  expect(stdout).not.toContain(key.slice(-43))
  expect(await fleet('approve', id, 'waiting-1')).toMatchObject({ code: 0 })
  expect(await fleet('reject', id, 'waiting-2')).toMatchObject({ code: 0 })
  expect(codeOf(await provision(key, 'waiting-1'))).toBe(201)
  expect(await fleet('approve', id, 'waiting-2')).toMatchObject({ code: 3 })
  expect(await fleet('delete', id, '--yes')).toMatchObject({ code: 0 })
  expect(codeOf(await provision(key, 'waiting-1'))).toBe('PROVISIONING_KEY_INVALID')
})

test('the audit says which key registered which device, and no entry has a key', async () => {
  const { key, id } = await create({ name: 'Line 3', limit: 1 })
  await provision(key, 'audited-1')
  await provision(key, 'audited-2')
  await until('both entries', async () => {
    const { text } = await admin.get('/audit?action=provisionDevice&actor=Line 3')
    return text.includes('audited-1') && text.includes('PROVISIONING_KEY_USED_UP')
  })
  const { body, text } = await admin.get('/audit?device_id=audited-1&action=provisionDevice')
  expect(body['data']).toMatchObject([
    { outcome: 'success', actor: { type: 'provisioning_key', id, name: 'Line 3' } },
    { outcome: 'success' },
  ])
  const secret = key.slice(-43)
  for (const told of [text, (await admin.get('/audit?per_page=200')).text]) expect(told).not.toContain(secret)
})

// EMQX judges a CONNECT by itself, and knows no provisioning keys.
describe.skipIf(PROFILE === 'cluster')('over MQTT', () => {
  /** Asks as a device does, and resolves with the answer. */
  async function ask(key: string, deviceId: string, payload = '{}') {
    const client = await connectAsync(service.mqttUrl, {
      ...{ clientId: deviceId, username: deviceId, password: key, reconnectPeriod: 0 },
    })
    try {
      await client.subscribeAsync(`fleet/${deviceId}/provision/+`, { qos: 1 })
      const answered = new Promise<{ topic: string; body: Record<string, unknown> }>((resolve) =>
        client.once('message', (topic, bytes) =>
          resolve({ topic: topic.split('/').slice(2).join('/'), body: JSON.parse(String(bytes)) }),
        ),
      )
      await client.publishAsync(`fleet/${deviceId}/provision/get`, payload, { qos: 1 })
      return await answered
    } finally {
      await client.endAsync(true)
    }
  }

  test('a device asks with the key as its password, and connects with the token of the answer', async () => {
    const { key } = await create({ limit: 1 })
    const { topic, body } = await ask(key, 'mqtt-1', '{"name":"First","client_token":"t1"}')
    expect([topic, body]).toEqual([
      'provision/accepted',
      {
        ...{ device_id: 'mqtt-1', type: 'mqtt_device', group: 'line/3', client_token: 't1' },
        ...{ mqtt_token: expect.any(String), expires_at: expect.any(String), mqtt_endpoint: service.mqttUrl },
      },
    ])
    const device = await connectDevice(service, 'mqtt-1', String(body['mqtt_token']))
    await publish(device, 'mqtt-1', { m: 1 })
    await applied(async () =>
      expect((await admin.get('/devices/mqtt-1')).body).toMatchObject({ name: 'First', status: 'online' }),
    )
    await device.endAsync()
    expect(await ask(key, 'mqtt-1')).toMatchObject({
      topic: 'provision/rejected',
      body: { status: 409, code: 'ALREADY_EXISTS', detail: expect.stringContaining('connected before') },
    })
    expect(await ask(key, 'mqtt-2')).toMatchObject({ body: { code: 'PROVISIONING_KEY_USED_UP' } })
    expect((await ask(key, 'mqtt-2', '[]')).body).toMatchObject({ code: 'BAD_REQUEST' })
    expect((await admin.get('/devices/mqtt-2')).status).toBe(404)
  })

  test('a device that waits is told when to ask again', async () => {
    const { key } = await create({ approval: true })
    expect(await ask(key, 'mqtt-3')).toMatchObject({
      topic: 'provision/rejected',
      body: { code: 'PROVISIONING_PENDING', retry_after_sec: 30 },
    })
  })

  test('a key that is wrong, deleted or for other ids is refused at CONNECT, with its code in the audit', async () => {
    const [deleted, limited] = [await create(), await create({ id_pattern: 'robot-*' })]
    await admin.call('DELETE', `${KEYS}/${deleted.id}`)
    for (const [clientId, key] of [
      ['mqtt-4', deleted.key],
      ['mqtt-5', limited.key],
      ['mqtt-6', 'flp_rubbish'],
    ] as const)
      expect(await knock(service, { clientId, username: clientId, password: Buffer.from(key) })).toEqual({
        kind: 'connack',
        code: 5,
      })
    await until('both reasons', async () => {
      const { text } = await admin.get('/audit?action=mqtt.connect')
      return text.includes('PROVISIONING_KEY_INVALID') && text.includes('PROVISIONING_ID_NOT_ALLOWED')
    })
  })
})
