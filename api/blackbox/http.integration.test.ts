// Properties of every request, with the real process: limits, idempotency keys, other origins.
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { CHANNELS } from '../../schemas/ws.ts'
import { PROFILE, type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, type Watcher, watch } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const harness = new ServiceHarness()
let shared: Service
let admin: Rest
let watcher: Watcher
/** A socket whose peer answers no pings. It is looked at last, as it takes some seconds until it is ended. */
let mute: WebSocket
let pings = 0

beforeAll(async () => {
  shared = await harness.start({
    FLEET_CORS_ORIGINS: 'https://a.example',
    FLEET_WS_CONNECTIONS_MAX: '2',
    FLEET_WS_PING_INTERVAL_SEC: '5',
    FLEET_WS_PING_TIMEOUT_SEC: '15',
  })
  admin = await shared.admin()
  watcher = await watch(shared, admin)
  watcher.socket.on('ping', () => pings++)
  mute = new WebSocket(`${shared.wsUrl}?token=${admin.token}`, { autoPong: false })
  mute.on('error', () => undefined)
  await once(mute, 'message')
})
afterAll(() => harness.close())

test('as many sockets of /ws are let in as is set, and one more is told so', async () => {
  const third = new WebSocket(`${shared.wsUrl}?token=${admin.token}`)
  const [message] = await once(third, 'message')
  expect(JSON.parse(String(message))).toMatchObject({
    type: 'error',
    problem: {
      code: 'RATE_LIMIT_EXCEEDED',
      detail: expect.stringContaining('the service has too many sockets open; try again later'),
    },
  })
  const [code] = await once(third, 'close')
  expect(code).toBe(4429)
})

test('an unknown channel of /ws is refused with those that exist, and the socket stays', async () => {
  watcher.send({ type: 'subscribe', id: 'odd', channel: 'weather' })
  const { problem } = await watcher.next('the refusal', ({ type, id }) => type === 'error' && id === 'odd')
  expect(problem).toMatchObject({
    status: 422,
    code: 'VALIDATION_FAILED',
    detail: expect.stringContaining(`allowed values: ${CHANNELS.join(', ')}`),
    errors: [expect.objectContaining({ path: '/channel' })],
  })
  await watcher.subscribe('known', 'devices')
})

test.each([
  ['deeper than 32 levels', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, 422, 'VALIDATION_FAILED'],
  ['with a key that reaches for the prototype', '{"__proto__":{"admin":true}}', 400, 'BAD_REQUEST'],
  ['with a number beyond all numbers', '{"a":1e999}', 400, 'BAD_REQUEST'],
  ['that breaks off', '{"a":', 400, 'BAD_REQUEST'],
])('JSON %s is refused, and nothing is changed', async (_, metadata, status, code) => {
  const response = await fetch(`${shared.httpUrl}/api/v1/devices`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
    body: `{"device_id":"odd","name":"a","name":"b","type":"mqtt_device","metadata":${metadata}}`,
  })
  expect([response.status, JSON.parse(await response.text()).code]).toEqual([status, code])
  expect((await admin.get('/devices/odd')).status).toBe(404)
})

test('a registration repeated after kill -9 gets the first answer, whose token works', async () => {
  const first = await harness.start()
  const { token: adminToken } = await first.admin()
  const send = async (httpUrl: string, path: string, body: object) => {
    const response = await fetch(`${httpUrl}/api/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${adminToken}`,
        'content-type': 'application/json',
        'idempotency-key': `key-of-${path}`,
      },
      body: JSON.stringify(body),
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  const device = { name: 'Picker', type: 'mqtt_device', group: 'a' }
  const registered = await send(first.httpUrl, '/devices', device)
  expect(registered.status).toBe(201)
  const { device_id: id, access_token: token } = JSON.parse(registered.text)
  expect(id).toMatch(/^dev_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
  const commanded = await send(first.httpUrl, `/commands/${id}`, { command: 'go', timeout_sec: 600 })
  const broadcast = await send(first.httpUrl, '/commands/$broadcast', { group: 'a', command: 'stop' })
  first.kill('SIGKILL')
  const again = await first.again()
  const repeated = await send(again.httpUrl, '/devices', device)
  expect([repeated.status, repeated.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
  expect(repeated.text).toBe(registered.text)
  const command = await send(again.httpUrl, `/commands/${id}`, { command: 'go', timeout_sec: 600 })
  expect(JSON.parse(command.text).command_id).toBe(JSON.parse(commanded.text).command_id)
  expect((await send(again.httpUrl, '/commands/$broadcast', { group: 'a', command: 'stop' })).text).toBe(
    broadcast.text,
  )
  const reused = await send(again.httpUrl, '/devices', { ...device, name: 'Other' })
  expect([reused.status, JSON.parse(reused.text).code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
  // A key belongs to one request of a user, whatever the operation.
  const elsewhere = await fetch(`${again.httpUrl}/api/v1/commands/${id}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${adminToken}`,
      'content-type': 'application/json',
      'idempotency-key': 'key-of-/devices',
    },
    body: JSON.stringify({ command: 'go' }),
  })
  expect([elsewhere.status, JSON.parse(await elsewhere.text()).code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
  const rest = again.nobody.as(String(adminToken))
  expect((await rest.get('/devices?group=a')).body['total']).toBe(1)
  expect((await rest.get(`/commands/${id}`)).body['total']).toBe(2)
  const client = await connectDevice(again, id, token)
  await client.endAsync()
})

test('requests beyond the rate of a user, a device or an address are 429 and succeed later', async () => {
  const service = await harness.start({
    FLEET_USER_REQUEST_RATE: '15',
    FLEET_DEVICE_REQUEST_RATE: '5',
    FLEET_ANONYMOUS_REQUEST_RATE: '10',
  })
  const caller = await service.admin()
  await registerDevice(caller, 'r1')
  const burst = async (path: string, rest = caller) => {
    const answers = await Promise.all(Array.from({ length: 120 }, () => rest.get(path)))
    return answers.filter(({ status }) => status === 429)
  }
  for (const [limited, path, rest] of [
    ['device', '/devices/r1', caller],
    ['user', '/devices', caller],
    ['address', '/devices', service.nobody],
  ] as const) {
    const refused = await burst(path, rest)
    expect(refused.map(({ body }) => body['limited'])).toContain(limited)
    const [first] = refused
    expect(Number(first?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(first?.headers.get('ratelimit')).toContain(`r=0;t=1`)
    await until('it is let through again', async () => (await rest.get(path)).status !== 429)
  }
  expect((await service.nobody.get('//readyz')).status).toBe(200)
})

test('a page of another origin is allowed if it is named, and an unchanged answer is not sent again', async () => {
  const service = shared
  await registerDevice(admin, 'r1')
  const preflight = await fetch(`${service.httpUrl}/api/v1/devices/r1`, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'PATCH' },
  })
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
    204,
    'https://a.example',
  ])
  const headers = { authorization: `Bearer ${admin.token}`, origin: 'https://b.example' }
  const read = await fetch(`${service.httpUrl}/api/v1/devices/r1`, { headers })
  expect([read.headers.get('vary'), read.headers.get('access-control-allow-origin')]).toEqual([
    'Origin',
    null,
  ])
  const etag = read.headers.get('etag') ?? ''
  const fresh = await fetch(`${service.httpUrl}/api/v1/devices/r1`, {
    headers: { ...headers, 'if-none-match': etag },
  })
  expect([fresh.status, await fresh.text(), fresh.headers.get('etag')]).toEqual([304, '', etag])
})

// EMQX has its own limit.
test.skipIf(PROFILE === 'cluster')(
  'a device beyond its publish rate is slowed down at QoS 1 and loses only QoS 0 messages',
  async () => {
    const service = await harness.start({ FLEET_DEVICE_PUBLISH_RATE: '20' })
    const own = await service.admin()
    const client = await connectDevice(service, 'r1', await registerDevice(own, 'r1'))
    const send = (n: number, qos: 0 | 1) =>
      client.publishAsync('fleet/r1/telemetry', JSON.stringify({ n, [`q${qos}`]: n }), { qos })
    await Promise.all(Array.from({ length: 60 }, (_, n) => send(n, 1)))
    expect((await own.get('/telemetry/r1')).body['data']).toMatchObject({ q1: 59 })
    await Promise.all(Array.from({ length: 200 }, (_, n) => send(n, 0)))
    const shed = await until('messages to be shed', async () => {
      const { text } = await service.nobody.get('//metrics')
      return Number(/^fleet_messages_shed_total (\d+)$/m.exec(text)?.[1] ?? 0) || undefined
    })
    expect(shed).toBeLessThanOrEqual(200)
    await client.endAsync()
  },
)

test('a socket of /ws that answers no pings is ended after the time that is set, and one that does stays', async () => {
  await until('the end of the mute socket', () => mute.readyState === WebSocket.CLOSED)
  expect(pings).toBeGreaterThan(0)
  await watcher.subscribe('still', 'devices')
})
