// A gateway with three sub-devices over real MQTT: messages in both directions, messages that are refused, and a kill.
import type { IClientOptions, MqttClient } from 'mqtt'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { applied, type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { listen } from './testing/service-inbox.ts'
import { type Answer, historyOf, type Rest, registerDevice } from './testing/service-rest.ts'

const harness = new ServiceHarness()
let service: Service
let admin: Rest

beforeAll(async () => {
  service = await harness.start({ FLEET_HEARTBEAT_TIMEOUT_SEC: '5' })
  admin = await service.admin()
})
afterAll(() => harness.close())

const idOf = ({ body }: Answer) => String(body['command_id'])
const statusOf = async (id: string) => (await admin.get(`/devices/${id}`)).body['status']
const dataOf = async (id: string) => (await admin.get(`/telemetry/${id}`)).body['data']
const commandStatus = async (id: string, commandId: string) =>
  (await admin.get(`/commands/${id}/${commandId}`)).body['status']
/** Dead letters are listed once they are saved, which may be a moment after the PUBACK. */
const lettersOf = async (id: string, count: number) => {
  const path = `/dead-letters?device_id=${id}`
  const body = await until(`${count} dead letters of ${id}`, async () => {
    const answer = await admin.get(path)
    return answer.body['total'] === count && answer.body
  })
  // The answer has the type of its schema; a wrong shape fails the test that reads it.
  return (body['data'] as readonly Record<string, unknown>[]).map(({ topic, reason }) => [topic, reason])
}

interface Gateway {
  readonly id: string
  readonly client: MqttClient
  /** Received messages as `[topic after sub/, body]`, in order. */
  readonly inbox: (readonly [string, Record<string, unknown>])[]
  say(child: string, suffix: string, body: unknown): Promise<unknown>
  end(): Promise<void>
}

async function openGateway(id: string, token: string, options: IClientOptions = {}): Promise<Gateway> {
  const client = await connectDevice(service, id, token, options)
  const inbox: (readonly [string, Record<string, unknown>])[] = []
  client.on('message', (topic, payload) => {
    const text = payload.toString()
    inbox.push([topic.slice(`fleet/${id}/sub/`.length), text === '' ? {} : JSON.parse(text)])
  })
  for (const suffix of ['command', 'shadow/desired', 'shadow/reported/+', 'shadow/get/accepted'])
    await client.subscribeAsync(`fleet/${id}/sub/+/${suffix}`, { qos: 1 })
  return {
    id,
    client,
    inbox,
    say: (child, suffix, body) => publish(client, id, body, `sub/${child}/${suffix}`),
    end: () => client.endAsync(),
  }
}

const received = (
  gateway: Gateway,
  topic: string,
  fits: (body: Record<string, unknown>) => boolean = () => true,
) =>
  until(
    `${topic} at ${gateway.id}`,
    () => gateway.inbox.find(([at, body]) => at === topic && fits(body))?.[1],
  )

async function registerFamily(id: string) {
  const token = await registerDevice(admin, id, { type: 'gateway' })
  const children = [1, 2, 3].map((n) => `${id}-c${n}`)
  const tokens = new Map<string, string>()
  for (const child of children) tokens.set(child, await registerDevice(admin, child, { parent_id: id }))
  return { token, children, tokenOf: (child: string) => tokens.get(child) ?? '' }
}

test('telemetry, status, log and shadow that a gateway reports belong to its sub-devices', async () => {
  const { token, children } = await registerFamily('g1')
  const gateway = await openGateway('g1', token)
  for (const [n, child] of children.entries()) await gateway.say(child, 'telemetry', { n })
  for (const [n, child] of children.entries())
    await applied(async () => expect(await dataOf(child)).toEqual({ n }))
  await gateway.say('g1-c1', 'telemetry/imu', { x: 1 })
  await gateway.say('g1-c1', 'log', { level: 'warn', message: 'hot' })
  await gateway.say('g1-c1', 'status', { status: 'online', session_id: 's1', firmware_version: '1.2' })
  await gateway.say('g1-c1', 'shadow/reported', { state: { mode: 'eco' }, client_token: 't1' })
  expect(await received(gateway, 'g1-c1/shadow/reported/accepted')).toMatchObject({ client_token: 't1' })
  await admin.call('PUT', '/shadows/g1-c1/desired', { mode: 'fast' })
  expect(await received(gateway, 'g1-c1/shadow/desired')).toMatchObject({ state: { mode: 'fast' } })
  await gateway.say('g1-c1', 'shadow/get', '')
  expect(await received(gateway, 'g1-c1/shadow/get/accepted')).toMatchObject({
    device_id: 'g1-c1',
    desired: { mode: 'fast' },
    reported: { mode: 'eco' },
  })
  const { body } = await admin.get('/devices/g1-c1')
  expect(body).toMatchObject({
    status: 'online',
    parent_id: 'g1',
    firmware_version: '1.2',
    connectivity: { connected: true, reason: 'gateway', session_id: 's1' },
  })
  expect(await dataOf('g1-c1')).toEqual({ n: 0, imu: { x: 1 } })
  expect(await dataOf('g1')).toEqual({})
  // The gateway published, if only for others.
  expect(await statusOf('g1')).toBe('online')
  await until('the log', async () => (await admin.get('/devices/g1-c1/logs')).text.includes('hot'))
  const listed = await admin.get('/devices?parent_id=g1&sort=device_id')
  expect([listed.body['total'], listed.text.includes('g1-c3')]).toEqual([3, true])
  await gateway.say('g1-c2', 'telemetry', { n: 2 })
  await gateway.say('g1-c1', 'status', { status: 'offline', session_id: 's1', reason: 'unplugged' })
  await applied(async () =>
    expect([await statusOf('g1-c1'), await statusOf('g1-c2')]).toEqual(['offline', 'online']),
  )
  await gateway.end()
  await until('its sub-devices are not connected', async () => {
    const { connectivity } = (await admin.get('/devices/g1-c2')).body
    return Reflect.get(Object(connectivity), 'reason') === 'gateway disconnect'
  })
  await until('and silent', async () => (await statusOf('g1-c2')) === 'offline')
  expect(await lettersOf('g1', 0)).toEqual([])
})

test('a message that a gateway may not send has no effect and becomes its own dead letter', async () => {
  const { token } = await registerFamily('g2')
  await registerFamily('g3')
  const stranger = await listen(service, admin, { id: 'stranger' })
  const gateway = await openGateway('g2', token)
  await gateway.say('stranger', 'telemetry', { forged: 1 })
  await gateway.say('g3-c1', 'telemetry', { forged: 1 })
  await gateway.say('nobody', 'telemetry', { forged: 1 })
  await publish(gateway.client, 'g2', { forged: 1 }, 'sub/g2-c1')
  await publish(stranger.client, 'stranger', { forged: 1 }, 'sub/g2-c1/telemetry')
  await admin.call('DELETE', '/devices/g2-c2')
  await until('its gateway does not speak for it any more', async () => {
    const { connectivity } = (await admin.get('/devices/g2-c2')).body
    return Reflect.get(Object(connectivity), 'connected') === false
  })
  await gateway.say('g2-c2', 'telemetry', { late: 1 })
  expect((await lettersOf('g2', 5)).toSorted()).toEqual([
    ['fleet/g2/sub/g2-c1', 'BAD_TOPIC'],
    ['fleet/g2/sub/g2-c2/telemetry', 'DEVICE_DECOMMISSIONED'],
    ['fleet/g2/sub/g3-c1/telemetry', 'NOT_ITS_GATEWAY'],
    ['fleet/g2/sub/nobody/telemetry', 'UNKNOWN_DEVICE'],
    ['fleet/g2/sub/stranger/telemetry', 'NOT_ITS_GATEWAY'],
  ])
  expect(await lettersOf('stranger', 1)).toEqual([['fleet/stranger/sub/g2-c1/telemetry', 'NOT_A_GATEWAY']])
  for (const id of ['stranger', 'g3-c1', 'g2-c1', 'g2-c2']) expect(await dataOf(id)).toEqual({})
  expect(await statusOf('g3-c1')).toBe('provisioning')
  await gateway.say('g2-c1', 'telemetry', 'no JSON')
  expect(await lettersOf('g2-c1', 1)).toEqual([['fleet/g2/sub/g2-c1/telemetry', expect.any(String)]])
  await Promise.all([gateway.end(), stranger.end()])
})

test('a command goes through the gateway, waits while the sub-device is away, and goes directly if it is connected', async () => {
  const { token, tokenOf } = await registerFamily('g4')
  const send = (body: object) => admin.post('/commands/g4-c1', { timeout_sec: 60, ...body })
  const waiting = idOf(await send({ command: 'first' }))
  const cancelled = idOf(await send({ command: 'never' }))
  await admin.call('DELETE', `/commands/g4-c1/${cancelled}`)
  const gateway = await openGateway('g4', token)
  await publish(gateway.client, 'g4', { n: 1 })
  await applied(async () => expect(await dataOf('g4')).toEqual({ n: 1 }))
  expect(await commandStatus('g4-c1', waiting)).toBe('pending')
  await gateway.say('g4-c1', 'telemetry', { n: 1 })
  expect(await received(gateway, 'g4-c1/command')).toMatchObject({ request_id: waiting, command: 'first' })
  await until('delivered', async () => (await commandStatus('g4-c1', waiting)) === 'delivered')
  await gateway.say('g4-c2', 'command/ack', { request_id: waiting, status: 'failed' })
  await gateway.say('g4-c1', 'command/ack', { request_id: waiting, status: 'completed', result: 1 })
  await applied(async () => expect(await commandStatus('g4-c1', waiting)).toBe('completed'))

  const taken = idOf(await send({ command: 'second' }))
  await received(gateway, 'g4-c1/command', ({ request_id }) => request_id === taken)
  await admin.call('DELETE', `/commands/g4-c1/${taken}`)
  await received(gateway, 'g4-c1/command', ({ command }) => command === '$cancel')

  const child = await listen(service, admin, { id: 'g4-c1', token: tokenOf('g4-c1') })
  const direct = idOf(await send({ command: 'third' }))
  await child.next('the command', ({ body }) => body['request_id'] === direct)
  await child.ack(direct, 'completed')
  await child.end()
  await until('reached through its gateway again', async () => {
    const { connectivity } = (await admin.get('/devices/g4-c1')).body
    return Reflect.get(Object(connectivity), 'reason') === 'gateway'
  })
  const again = idOf(await send({ command: 'fourth' }))
  await received(gateway, 'g4-c1/command', ({ request_id }) => request_id === again)
  const told = gateway.inbox.flatMap(([topic, { command }]) => (topic === 'g4-c1/command' ? [command] : []))
  expect(told).toEqual(['first', 'second', '$cancel', 'fourth'])
  await gateway.end()
})

test('a gateway that connects gets the desired state of its sub-devices, which stay when it is decommissioned', async () => {
  const { token, tokenOf } = await registerFamily('g5')
  await admin.call('PUT', '/shadows/g5-c1/desired', { on: true })
  await admin.call('PUT', '/shadows/g5-c2/desired', { on: false })
  const gateway = await openGateway('g5', token)
  for (const child of ['g5-c1', 'g5-c2']) await received(gateway, `${child}/shadow/desired`)
  await gateway.say('g5-c1', 'telemetry', { n: 1 })
  await applied(async () => expect(await dataOf('g5-c1')).toEqual({ n: 1 }))
  await admin.call('DELETE', '/devices/g5')
  await until('its session is cut', () => !gateway.client.connected)
  const { body } = await admin.get('/devices/g5-c1')
  expect(body).toMatchObject({ status: 'online', parent_id: 'g5' })
  await expect(openGateway('g5', token)).rejects.toThrow()
  const refused = await admin.post('/devices', { name: 'x', type: 'mqtt_device', parent_id: 'g5' })
  expect(refused.status).toBe(422)
  const moved = await admin.call('PATCH', '/devices/g5-c2', { parent_id: null })
  expect([moved.status, moved.body['code']]).toEqual([422, 'IMMUTABLE_FIELD'])
  const child = await connectDevice(service, 'g5-c1', tokenOf('g5-c1'))
  await publish(child, 'g5-c1', { n: 2 })
  await applied(async () => expect(await dataOf('g5-c1')).toEqual({ n: 2 }))
  await child.endAsync()
})

test('after a kill, every message acknowledged to the gateway is stored once, and it continues', async () => {
  const { token, children } = await registerFamily('g6')
  const gateway = await openGateway('g6', token, { reconnectPeriod: 100, clean: false })
  const from = Math.floor(Date.now() / 10_000) * 10_000 - 86_400_000
  const sent = 300
  let acked = 0
  const load = children.map(async (child) => {
    for (let n = 0; n < sent; n++) {
      // Each message has its own time, so that a repetition is the same point.
      await gateway.say(child, 'telemetry', { timestamp: from + n * 1_000, n })
      acked++
    }
  })
  for (const upTo of [100, 500]) {
    await until(`${upTo} acknowledged`, () => acked > upTo)
    service.kill('SIGKILL')
    service = await service.again()
    admin = await service.admin()
  }
  await Promise.all(load)
  const command = idOf(await admin.post('/commands/g6-c3', { command: 'go', timeout_sec: 60 }))
  await received(gateway, 'g6-c3/command', ({ request_id }) => request_id === command)
  for (const child of children) {
    await applied(async () => expect(await dataOf(child)).toEqual({ n: sent - 1 }))
    const range = { metric: 'n', interval: '10s', from, to: from + sent * 1_000 }
    const buckets = await until(`${child} is stored`, async () => {
      const found = await historyOf(admin, child, range)
      // The last bucket may exist before it has all of its points.
      return found.reduce((points, { count }) => points + count, 0) >= sent && found
    })
    expect(buckets).toHaveLength(sent / 10)
    expect(buckets.every(({ count, min, max }) => count === 10 && max - min === 9)).toBe(true)
  }
  expect(await lettersOf('g6', 0)).toEqual([])
  await gateway.end()
})
