// When a device counts as online and offline: with connects, silence, pauses and restarts of the service.
import { ErrorWithReasonCode, type MqttClient } from 'mqtt'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { applied, PROFILE, passed, type Service, ServiceHarness, until } from './testing/service.ts'
import {
  closedOf,
  connectDevice,
  drop,
  publish,
  statusesOf,
  type Watcher,
  watch,
} from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const TIMEOUT_MS = 2_000
const RESTART_TIMEOUT_MS = 6_000
/** CONNACK of MQTT 3.1.1. */
const SERVER_UNAVAILABLE = 3

const harness = new ServiceHarness()
let service: Service
let admin: Rest
let watcher: Watcher
const stops: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  service = await harness.start({ FLEET_HEARTBEAT_TIMEOUT_SEC: String(TIMEOUT_MS / 1000) })
  admin = await service.admin()
  watcher = await watch(service, admin)
  await watcher.subscribe('d', 'devices')
})
afterAll(async () => {
  for (const stop of stops) await stop()
  await harness.close()
})

const will = (id: string) => ({
  will: {
    topic: `fleet/${id}/status`,
    payload: Buffer.from('{"status":"offline","reason":"lwt"}'),
    qos: 1 as const,
    retain: true,
  },
})
const statuses = (id: string) => statusesOf(watcher.frames, id)
const statusNow = async (id: string) => (await admin.get(`/devices/${id}`)).body['status']

/** How long the service had heard nothing of a device when it went offline; undefined if it did not. */
function silenceOf(id: string): number | undefined {
  for (const { event, device_id: device, ts, data } of watcher.frames) {
    const { status, last_seen_at: seenAt } = Object(data)
    if (event === 'device.status' && device === id && status === 'offline')
      return Date.parse(String(ts)) - Date.parse(String(seenAt))
  }
  return undefined
}

/** Publishes until stopped, and ignores failures. */
function chatter(client: MqttClient, id: string): () => void {
  let n = 0
  const timer = setInterval(() => {
    publish(client, id, { n: n++ }).catch(() => undefined)
  }, 100)
  return () => clearInterval(timer)
}

test('a device is online when it connects, and offline at once by its last will', async () => {
  const token = await registerDevice(admin, 'p1')
  expect(await statusNow('p1')).toBe('provisioning')
  const client = await connectDevice(service, 'p1', token, will('p1'))
  await until('online', () => statuses('p1').includes('online'))
  expect(await statusNow('p1')).toBe('online')
  drop(client)
  await until('offline', () => statuses('p1').includes('offline'))
  expect(await admin.get('/devices/p1')).toMatchObject({
    body: { status: 'offline', status_reason: 'lwt', connectivity: { connected: false } },
  })
  const again = await connectDevice(service, 'p1', token, will('p1'))
  await until('online again', () => statuses('p1').length === 3)
  expect(statuses('p1')).toEqual(['online', 'offline', 'online'])
  await again.endAsync()
})

/** Connects, unless EMQX refuses that: it does while it still ends the connection before the last one. */
async function takenOver(id: string, token: string): Promise<MqttClient | undefined> {
  try {
    return await connectDevice(service, id, token, will(id))
  } catch (error) {
    if (PROFILE === 'cluster' && error instanceof ErrorWithReasonCode && error.code === SERVER_UNAVAILABLE)
      return undefined
    throw error
  }
}

/** Connects as the same device again and again, each time while the former connection is still open. */
async function takeOver(id: string, times: number): Promise<void> {
  // One that is done before the others says nothing more, and is not to count as silent meanwhile.
  const token = await registerDevice(admin, id, { heartbeat_timeout_sec: 3_600 })
  const clients = [await connectDevice(service, id, token, will(id))]
  for (let round = 1; round <= times; round++) {
    const [earlier] = clients.slice(-1)
    const closed = earlier?.connected === true ? closedOf(earlier) : undefined
    expect(closed, `${id} is connected before takeover ${round}`).toBeDefined()
    clients.push(await until(`takeover ${round} of ${id}`, () => takenOver(id, token)))
    await closed
    if (round % 10 === 9) await publish(last(clients), id, { round })
  }
  expect(clients.filter(({ connected }) => connected)).toEqual([last(clients)])
  await applied(async () =>
    expect(await admin.get(`/devices/${id}`)).toMatchObject({
      body: { status: 'online', connectivity: { connected: true } },
    }),
  )
  await last(clients).endAsync()
}

function last(clients: readonly MqttClient[]): MqttClient {
  const client = clients.at(-1)
  if (client === undefined) throw new Error('there is a client')
  return client
}

test('every fault that a device names is an issue until it is told to be well by its name', async () => {
  const client = await connectDevice(service, 'faulty', await registerDevice(admin, 'faulty'))
  stops.push(() => client.endAsync())
  const say = (levels: Readonly<Record<string, number>>) =>
    publish(client, 'faulty', {
      diagnostics: Object.entries(levels).map(([name, level]) => ({ name, level })),
    })
  const now = async () => {
    const { body } = await admin.get('/devices/faulty')
    return [body['status'], body['issues']]
  }
  await say({ motor: 2, lidar: 3, battery: 1 })
  await applied(async () => expect(await now()).toEqual(['error', ['lidar', 'motor']]))
  await say({ battery: 0 })
  await applied(async () => expect(await now()).toEqual(['error', ['lidar', 'motor']]))
})

test('a thousand takeovers never show the device as offline, on /ws or in the timeline', async () => {
  // EMQX bans a device that connects fifteen times within a minute.
  const ids = Array.from({ length: 100 }, (_, i) => `taken-${i}`)
  await Promise.all(ids.map((id) => takeOver(id, 10)))
  for (const id of ids) {
    expect(statuses(id), id).toEqual(['online'])
    const moves = await until('the timeline', async () => {
      const { body } = await admin.get(`/devices/${id}/events?kind=status&limit=200`)
      const data = Array.isArray(body['data']) ? body['data'] : []
      const all = data.map(({ data: { to } }) => String(to))
      return all.includes('online') && all
    })
    expect(moves, id).not.toContain('offline')
  }
})

test('devices that fall silent together are offline, none before its own deadline', async () => {
  const ids = Array.from({ length: 100 }, (_, i) => `hush-${i}`)
  const clients = await Promise.all(
    ids.map(async (id) => connectDevice(service, id, await registerDevice(admin, id))),
  )
  await Promise.all(clients.map((client, i) => publish(client, `hush-${i}`, { last: i })))
  await until('all offline', () => ids.every((id) => statuses(id).at(-1) === 'offline'))
  for (const id of ids) expect(silenceOf(id), id).toBeGreaterThanOrEqual(TIMEOUT_MS)
  await Promise.all(clients.map((client) => client.endAsync()))
})

test('a silent device is offline after the heartbeat timeout, whatever its keep-alive', async () => {
  const quiet = await connectDevice(service, 'p3', await registerDevice(admin, 'p3'), { keepalive: 1 })
  const loud = await connectDevice(service, 'p4', await registerDevice(admin, 'p4'))
  const hush = chatter(loud, 'p4')
  stops.push(async () => hush())
  await publish(quiet, 'p3', { last: 1 })
  await until('offline', () => statuses('p3').includes('offline'))
  expect(silenceOf('p3')).toBeGreaterThanOrEqual(TIMEOUT_MS)
  expect(quiet.connected).toBe(true)
  expect(statuses('p4')).toEqual(['online'])
  await publish(quiet, 'p3', { last: 2 })
  await until('online again', () => statuses('p3').at(-1) === 'online')
  hush()
  await Promise.all([quiet.endAsync(), loud.endAsync()])
})

test('a pause of the whole service makes no device offline that kept publishing', async () => {
  const ids = ['p5', 'p6', 'p7', 'p8', 'p9']
  const talking = await Promise.all(
    ids.map(async (id) => {
      const client = await connectDevice(service, id, await registerDevice(admin, id), will(id))
      return { id, client, hush: chatter(client, id) }
    }),
  )
  const [mute] = talking
  for (const id of ids) await until('online', () => statuses(id).includes('online'))
  service.signalAll('SIGSTOP')
  mute?.hush()
  await passed(TIMEOUT_MS + 3_000)
  service.signalAll('SIGCONT')
  await until('the one that fell silent in the pause is offline', () => statuses('p5').includes('offline'))
  for (const { id, client, hush } of talking) {
    hush()
    expect(client.connected, id).toBe(true)
    if (id !== 'p5') expect(statuses(id), id).toEqual(['online'])
    await client.endAsync(true)
  }
})

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'a restart by %s makes no device offline before its deadline',
  async (signal) => {
    // Long enough to look at the service before the timeout is over.
    service.kill('SIGTERM')
    service = await service.again({ FLEET_HEARTBEAT_TIMEOUT_SEC: String(RESTART_TIMEOUT_MS / 1000) })
    admin = await service.admin()
    const [back, gone] = [`back-${signal}`, `gone-${signal}`]
    const returning = await connectDevice(service, back, await registerDevice(admin, back), {
      ...will(back),
      reconnectPeriod: 100,
    })
    const leaving = await connectDevice(service, gone, await registerDevice(admin, gone), will(gone))
    const hush = chatter(returning, back)
    await publish(leaving, gone, { last: 1 })
    await until(
      'online',
      async () => (await statusNow(gone)) === 'online' && (await statusNow(back)) === 'online',
    )
    const before = [(await admin.get(`/devices/${back}`)).body, (await admin.get(`/devices/${gone}`)).body]

    const stoppedAt = performance.now()
    service.kill(signal)
    service = await service.again()
    admin = await service.admin()
    // On a broker outside the connection stays open.
    const connected = PROFILE === 'cluster'
    expect(await admin.get(`/devices/${gone}`)).toMatchObject({
      body: { status: 'online', updated_at: before[1]?.['updated_at'], connectivity: { connected } },
    })
    await until('offline', async () => (await statusNow(gone)) === 'offline')
    // The timeout counts from the moment the service received messages again, after the stop.
    expect(performance.now() - stoppedAt).toBeGreaterThan(RESTART_TIMEOUT_MS)
    expect((await admin.get(`/devices/${back}`)).body).toMatchObject({
      status: 'online',
      // It was not offline even for a moment, since its record is unchanged.
      updated_at: before[0]?.['updated_at'],
      connectivity: { connected: true },
    })
    hush()
    await returning.endAsync(true)
  },
)
