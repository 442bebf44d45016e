// Refusals of MQTT: which clients may connect, what they may publish and subscribe, and how sessions are ended.
import { once } from 'node:events'
import { SignJWT } from 'jose'
import packets from 'mqtt-packet'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { closedOf, connectDevice, dialMqtt, knock, publish } from './testing/service-clients.ts'
import { listen } from './testing/service-inbox.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const SECRET = 'a secret that only this test and its service know'
const REFUSED = { identifier: 2, unauthorized: 5 } as const

const harness = new ServiceHarness()
let service: Service
let admin: Rest
let tokens: Readonly<Record<'dev' | 'dev-2' | 'dev-22', string>>

beforeAll(async () => {
  service = await harness.start({ FLEET_JWT_SECRET: SECRET })
  admin = await service.admin()
  tokens = {
    dev: await registerDevice(admin, 'dev'),
    'dev-2': await registerDevice(admin, 'dev-2'),
    'dev-22': await registerDevice(admin, 'dev-22'),
  }
})
afterAll(() => harness.close())

interface Claims {
  readonly sub: string
  readonly lastsMs: number
  readonly secret?: string
  readonly scope?: string
}

/** Signs a device token with the claims of the specification, as anyone with the secret can. */
async function forge({ sub, lastsMs, secret = SECRET, scope = 'device' }: Claims): Promise<string> {
  const topics = { publish: [`fleet/${sub}/#`], subscribe: [`fleet/${sub}/#`] }
  return await new SignJWT({ scope, topics })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(sub)
    .setIssuedAt()
    .setExpirationTime(Math.floor((Date.now() + lastsMs) / 1000))
    .sign(Buffer.from(secret))
}

/** People read what devices say on /ws: on MQTT they would read the tokens that devices are sent, too. */
async function adminKey(): Promise<string> {
  const { status, body } = await admin.post('/api-keys', { name: 'observer', role: 'admin' })
  expect(status).toBe(201)
  return String(body['api_key'])
}

const knockWith = (clientId: string, password: string | undefined, more: object = {}) =>
  knock(service, {
    clientId,
    ...(password === undefined ? {} : { password: Buffer.from(password) }),
    ...more,
  })

test('a device needs its own valid token; others get return code 5', async () => {
  expect(await knockWith('dev', tokens.dev)).toEqual({ kind: 'connack', code: 0 })
  expect(await knockWith('dev', await forge({ sub: 'dev', lastsMs: 60_000 }))).toEqual({
    kind: 'connack',
    code: 0,
  })
  const unauthorized = { kind: 'connack', code: REFUSED.unauthorized }
  const [head, body, signature = ''] = tokens.dev.split('.')
  const refused: Readonly<Record<string, readonly [string, string | undefined]>> = {
    'no token': ['dev', undefined],
    'no token at all': ['dev', 'secret'],
    'another signature': ['dev', `${head}.${body}.${[...signature].reverse().join('')}`],
    'signed by another': ['dev', await forge({ sub: 'dev', lastsMs: 60_000, secret: `${SECRET}!` })],
    'not signed': ['dev', `${Buffer.from('{"alg":"none","typ":"dev+jwt"}').toString('base64url')}.${body}.`],
    'another scope': ['dev', await forge({ sub: 'dev', lastsMs: 60_000, scope: 'user' })],
    expired: ['dev', await forge({ sub: 'dev', lastsMs: -1_000 })],
    'of another device': ['dev-2', tokens.dev],
    'of a user': ['dev', String(admin.token)],
    'an API key of an admin': ['dev', await adminKey()],
    'an API key of an admin, as nobody': ['observer', await adminKey()],
    'of nobody': ['dev-404', await forge({ sub: 'dev-404', lastsMs: 60_000 })],
  }
  for (const [why, [id, token]] of Object.entries(refused))
    expect(await knockWith(id, token), why).toEqual(unauthorized)
})

test('a device token is not accepted by REST', async () => {
  expect((await service.nobody.as(tokens.dev).get('/devices')).status).toBe(401)
})

test('a client id that is no device id gets return code 2', async () => {
  for (const id of ['', 'a/b', '#', '+', '$SYS', '..', 'x'.repeat(65), 'dev\u0000'])
    expect(await knockWith(id, tokens.dev), JSON.stringify(id)).toEqual({
      kind: 'connack',
      code: REFUSED.identifier,
    })
})

test('a client of MQTT 5 is let in, or refused with a reason code of MQTT 5', async () => {
  const knockV5 = (token: string) => knockWith('dev', token, { protocolVersion: 5 })
  expect(await knockV5(tokens.dev)).toEqual({ kind: 'connack', code: 0 })
  expect(await knockV5('secret')).toEqual({ kind: 'connack', code: 0x87 })
})

test('a last will outside the device’s topics is refused with the CONNECT', async () => {
  const will = (topic: string, retain = false) => ({
    will: { topic, payload: Buffer.from('offline'), qos: 1, retain },
  })
  expect(await knockWith('dev', tokens.dev, will('fleet/dev/status', true))).toEqual({
    kind: 'connack',
    code: 0,
  })
  for (const topic of ['fleet/dev-2/status', 'fleet/dev-22/status', '$SYS/x', 'fleet/+/status', 'fleet/dev'])
    expect(await knockWith('dev', tokens.dev, will(topic)), topic).toMatchObject({
      code: REFUSED.unauthorized,
    })
})

test('publishing outside the device’s topics, look-alikes included, ends the session and reaches nobody', async () => {
  const other = await connectDevice(service, 'dev-22', tokens['dev-22'])
  await other.subscribeAsync('fleet/dev-22/#', { qos: 1 })
  const heard: string[] = []
  other.on('message', (topic) => heard.push(topic))
  const outside = [
    'fleet/dev-22/telemetry',
    'fleet/dev/telemetry',
    'fleet/dev-2',
    'fleet//dev-2/telemetry',
    'Fleet/dev-2/telemetry',
    '/fleet/dev-2/telemetry',
    '$SYS/broker/x',
    'fleet/$group/hall/cmd/request',
    'other',
  ]
  for (const topic of outside) {
    const client = await connectDevice(service, 'dev-2', tokens['dev-2'])
    const closed = closedOf(client)
    client.publish(topic, '{"stolen":1}', { qos: 1 })
    await closed
    await client.endAsync(true)
  }
  await publish(other, 'dev-22', { own: 1 })
  await until('the own echo', () => heard.length > 0)
  expect(heard).toEqual(['fleet/dev-22/telemetry'])
  const { body } = await admin.get('/telemetry/dev-22')
  expect(body['data']).toEqual({ own: 1 })
  await other.endAsync(true)
})

test('filters outside the device’s topics are refused one by one', async () => {
  const client = await connectDevice(service, 'dev-2', tokens['dev-2'])
  const filters = [
    'fleet/dev-22/#',
    'fleet/+/status',
    '#',
    '$SYS/#',
    'fleet/dev-2',
    '$share/g/fleet/dev/#',
    'fleet/dev/#',
  ]
  for (const filter of filters) {
    const refused = await client.subscribeAsync(filter, { qos: 1 }).then(
      (granted) => granted[0]?.qos,
      () => 128,
    )
    expect(refused, filter).toBe(128)
  }
  expect(await client.subscribeAsync('fleet/dev-2/#', { qos: 1 })).toMatchObject([{ qos: 1 }])
  await client.endAsync(true)
})

test('a CONNECT that is too large, too slow or invalid costs the service nothing', async () => {
  const { text: before } = await service.nobody.get('//metrics')
  const sockets = await Promise.all(Array.from({ length: 50 }, () => dialMqtt(service)))
  const closed = Promise.all(sockets.map((socket) => once(socket, 'close')))
  sockets.forEach((socket, i) => {
    // A header that announces 200 MB, a part of a CONNECT, and other bytes.
    if (i % 3 === 0) socket.write(Buffer.from([0x10, 0x80, 0x80, 0x80, 0x60, ...Buffer.alloc(5_000)]))
    else if (i % 3 === 1) socket.write(Buffer.from([0x10, 0x20, 0x00]))
    else socket.write('GET / HTTP/1.1\r\n\r\n')
    socket.resume()
  })
  expect(await knockWith('dev', tokens.dev)).toEqual({ kind: 'connack', code: 0 })
  await closed
  const { text: after } = await service.nobody.get('//metrics')
  expect(memoryOf(after) - memoryOf(before)).toBeLessThan(100e6)
})

const memoryOf = (metrics: string) => Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1])

test('a session ends when its token expires', async () => {
  const client = await connectDevice(service, 'dev-2', await forge({ sub: 'dev-2', lastsMs: 5_999 }))
  const closed = closedOf(client)
  await closed
  await until('offline or disconnected', async () => {
    const { body } = await admin.get('/devices/dev-2')
    return Reflect.get(Object(body['connectivity']), 'reason') === 'expired'
  })
})

test('a decommissioned device is disconnected at once and cannot come back', async () => {
  const token = await registerDevice(admin, 'old')
  const client = await connectDevice(service, 'old', token, {
    will: { topic: 'fleet/old/status', payload: Buffer.from('offline'), qos: 1, retain: true },
  })
  await client.publishAsync('fleet/old/status', '{"status":"online"}', { qos: 1, retain: true })
  await client.publishAsync('fleet/old/shadow/reported', '{"led":"on"}', { qos: 1, retain: true })
  await client.subscribeAsync('fleet/old/#', { qos: 1 })
  const closed = closedOf(client)
  const deleted = await admin.call('DELETE', '/devices/old')
  expect(deleted).toMatchObject({ status: 200, body: { status: 'decommissioned' } })
  await closed
  expect(await knockWith('old', token)).toEqual({ kind: 'connack', code: REFUSED.unauthorized })
  expect(await knockWith('old', await forge({ sub: 'old', lastsMs: 60_000 }))).toMatchObject({
    code: REFUSED.unauthorized,
  })
  expect((await admin.post('/auth/devices/token', { device_id: 'old' })).status).toBe(409)
  expect(await admin.call('DELETE', '/devices/old')).toMatchObject({ status: 200 })
  expect(await admin.get('/devices/old')).toMatchObject({
    body: { status: 'decommissioned', connectivity: { connected: false } },
  })
})

test('a revocation ends the sessions of a device at once, and its earlier tokens with them', async () => {
  const token = await registerDevice(admin, 'leaked')
  const device = await connectDevice(service, 'leaked', token)
  const closed = closedOf(device)
  expect(await admin.post('/auth/devices/leaked/revoke', undefined)).toMatchObject({ status: 200 })
  await closed
  expect(await knockWith('leaked', token)).toMatchObject({ code: REFUSED.unauthorized })
  const issue = async (body: object) =>
    String((await admin.post('/auth/devices/token', { device_id: 'leaked', ...body })).body['mqtt_token'])
  const next = await connectDevice(service, 'leaked', await issue({ ttl_sec: 600 }))
  await publish(next, 'leaked', { n: 1 })
  const nextClosed = closedOf(next)
  const last = await issue({ revoke_previous: true })
  await nextClosed
  const again = await connectDevice(service, 'leaked', last)
  await publish(again, 'leaked', { n: 2 })
  await again.endAsync(true)
  for (const action of ['revokeDeviceTokens', 'issueDeviceToken'])
    await until(`the entry of ${action}`, async () => {
      const { body } = await admin.get(`/audit?action=${action}&device_id=leaked`)
      return Array.isArray(body['data']) && body['data'].length > 0
    })
})

test('a token for publishing alone cannot subscribe, and the other way round', async () => {
  const issue = async (scope: string) => {
    const { body } = await admin.post('/auth/devices/token', {
      device_id: 'dev-2',
      scopes: [scope],
      ttl_hours: 1,
    })
    return String(body['mqtt_token'])
  }
  const speaker = await connectDevice(service, 'dev-2', await issue('publish'))
  await publish(speaker, 'dev-2', { a: 1 })
  await expect(speaker.subscribeAsync('fleet/dev-2/#', { qos: 1 })).rejects.toThrow()
  await speaker.endAsync(true)
  const listener = await connectDevice(service, 'dev-2', await issue('subscribe'))
  await listener.subscribeAsync('fleet/dev-2/#', { qos: 1 })
  const closed = closedOf(listener)
  listener.publish('fleet/dev-2/telemetry', '{"a":2}', { qos: 1 })
  await closed
  await listener.endAsync(true)
  expect((await admin.get('/telemetry/dev-2')).body['data']).toMatchObject({ a: 1 })
})

test('only messages that the specification retains are retained', async () => {
  const first = await listen(service, admin, { id: 'dev', token: tokens.dev })
  for (const suffix of ['status', 'shadow/reported', 'telemetry', 'log', 'command/ack'])
    await first.client.publishAsync(`fleet/dev/${suffix}`, '{"status":"online"}', { qos: 1, retain: true })
  // The service retains this message itself, before the next session begins, which makes it publish the message again.
  await admin.call('PUT', '/shadows/dev/desired', { led: 'on' })
  await first.next('what is desired', ({ suffix, body }) => suffix === 'shadow/desired' && 'state' in body)
  await first.client.endAsync(true)
  const socket = await dialMqtt(service)
  const retained = new Set<string>()
  const parser = packets.parser()
  let isMarked = false
  parser.on('packet', (packet) => {
    if (packet.cmd !== 'publish') return
    if (packet.retain) retained.add(packet.topic)
    else if (packet.topic === 'fleet/dev/telemetry') isMarked = true
  })
  socket.on('data', (chunk: Buffer) => parser.parse(chunk))
  const password = Buffer.from(tokens.dev)
  socket.write(
    packets.generate({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
      keepalive: 60,
      clientId: 'dev',
      password,
      username: 'dev',
    }),
  )
  socket.write(
    packets.generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'fleet/dev/#', qos: 1 }] }),
  )
  await until('the retained ones', () => retained.size >= 3)
  socket.write(
    packets.generate({
      cmd: 'publish',
      topic: 'fleet/dev/telemetry',
      payload: '{"mark":1}',
      qos: 1,
      messageId: 2,
      dup: false,
      retain: false,
    }),
  )
  await until('the echo behind them', () => isMarked)
  expect([...retained].sort()).toEqual(
    ['shadow/desired', 'shadow/reported', 'status'].map((suffix) => `fleet/dev/${suffix}`),
  )
  socket.destroy()
})
