import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { DEVICE_STATUSES } from '../../schemas/vocabulary.ts'
import type { RawClient } from './testing/raw-client.ts'
import { openSocketService, type SocketFleet, type SocketService } from './testing/socket-service.ts'

const STEP_MS = 500

let service: SocketService
let fleet: SocketFleet

beforeEach(async () => {
  service = await openSocketService({ fleetFrameDevicesMax: 2, socketFrozenMs: 1e9 })
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('bo', { role: 'viewer', groups: ['a'] })
  await fleet.addDevice('a1', { group: 'a' })
  await fleet.addDevice('a2', { group: 'a/b' })
  await fleet.addDevice('c1', { group: 'c' })
  // Enough time for the devices to count as old changes.
  await fleet.engine.fleet.table()
  fleet.time.at += 10_000
})
afterEach(() => service.close())

test('filters of one user are limited, and one that several subscriptions have counts once', async () => {
  const few = await openSocketService({ fleetFiltersPerUserMax: 2 })
  for (const name of ['ada', 'bo']) few.fleet.addUser(name)
  const subscribe = async (client: RawClient, id: string, filter?: object) => {
    client.send({ type: 'subscribe', id, channel: 'fleet', filter })
    return (await client.next('subscribed', (frame) => frame['id'] === id)).type
  }
  const [ada, other, bo] = [await few.login('ada'), await few.login('ada'), await few.login('bo')]
  await subscribe(ada, 's1')
  await subscribe(ada, 's2', { group: 'a' })
  other.send({ type: 'subscribe', id: 's3', channel: 'fleet', filter: { tag: 't' } })
  expect(await other.next('error')).toMatchObject({ id: 's3', problem: { code: 'RATE_LIMIT_EXCEEDED' } })
  await subscribe(other, 's4', { group: 'a' })
  await subscribe(other, 's5', { device_ids: ['a1'] })
  await subscribe(bo, 's6', { tag: 't' })
  ada.send({ type: 'unsubscribe', id: 's1' })
  await ada.next('unsubscribed')
  await subscribe(other, 's7', { tag: 't' })
  await few.close()
})

async function listen(about: object = {}, token = 'ada'): Promise<RawClient> {
  const client = await service.login(token)
  client.send({ type: 'subscribe', id: 's1', channel: 'fleet', ...about })
  await client.next('subscribed')
  return client
}

/** Advances by half a second, after which the table is checked for changes. */
async function look(): Promise<void> {
  const looked = new Promise<void>((resolve) => {
    const stop = fleet.engine.fleet.watch(() => {
      // The other listeners are called first.
      stop()
      resolve()
    })
  })
  fleet.time.at += STEP_MS
  await looked
}

const rename = (name: string, to = `${name} renamed`) => fleet.edit(name, { name: to })

const eventsOf = ({ frames }: RawClient, event: string) =>
  frames.filter((frame) => frame['event'] === event).map((frame) => frame['data'] as Record<string, unknown>)
const deltasOf = (client: RawClient) => eventsOf(client, 'fleet.delta')

describe('deltas', () => {
  test('only changes are sent, in as few columns as possible', async () => {
    await fleet.report('a1', { n: 1 })
    await look()
    fleet.time.at += 60_000
    const client = await listen()
    fleet.time.at += LIMITS.fleetSampleEveryMs
    const seenAt = fleet.time.now()
    await fleet.report('a1', { n: 2 })
    await look()
    await fleet.edit('a1', { status: 'maintenance' })
    await look()
    await client.until(() => deltasOf(client).length === 2)
    const [seen, live] = deltasOf(client)
    expect(seen).toEqual({ device_id: ['a1'], rev: [expect.any(Number)], last_seen_ms: [seenAt] })
    const status = DEVICE_STATUSES.indexOf('maintenance')
    const since = seenAt + STEP_MS
    expect(live).toMatchObject({ device_id: ['a1'], status: [status], flags: [1], since_ms: [since] })
    expect(live).not.toHaveProperty('name')
    const frame = client.frames.find((each) => each['event'] === 'fleet.delta')
    expect(frame).toMatchObject({ type: 'event', id: 's1', seq: 1, channel: 'fleet', ts: expect.any(String) })
  })

  test('a frame has a bounded number of devices, and a new device has all of its columns', async () => {
    const client = await listen()
    for (const name of ['n1', 'n2']) await fleet.addDevice(name)
    await fleet.addDevice('n3', { tags: ['x'], group: 'g' })
    await look()
    await client.until(() => deltasOf(client).length === 2)
    expect(deltasOf(client).map(({ device_id: ids }) => ids)).toEqual([['n1', 'n2'], ['n3']])
    expect(deltasOf(client)[1]).toMatchObject({
      name: ['n3'],
      group: ['g'],
      tags: [['x']],
      type: ['mqtt_device'],
    })
  })

  test('changes shortly before the subscription are sent again, because the index may be older', async () => {
    await rename('a1', 'renamed')
    const client = await listen()
    await look()
    await client.until(() => deltasOf(client).length === 1)
    expect(deltasOf(client)[0]).toMatchObject({ device_id: ['a1'], name: ['renamed'] })
  })

  test('a subscription gets no more frames than it asked for', async () => {
    const client = await listen({ throttle_ms: 1_000 })
    for (let n = 1; n <= 4; n++) {
      await rename('a1', `${n}`)
      await look()
    }
    await client.until(() => deltasOf(client).length === 2)
    expect(deltasOf(client).map(({ name }) => name)).toEqual([['2'], ['4']])
  })

  test('a user limited to groups gets only their devices, and learns that a device has left them', async () => {
    const client = await listen({}, 'bo')
    for (const name of ['a1', 'c1']) await rename(name)
    await look()
    await fleet.edit('a2', { group: 'c' })
    await fleet.edit('c1', { group: 'd' })
    await look()
    await client.until(() => deltasOf(client).length === 2)
    expect(deltasOf(client)[0]).toMatchObject({ device_id: ['a1'] })
    expect(deltasOf(client)[1]).toMatchObject({ device_id: [], removed: ['a2'] })
  })

  test('a user whose groups change is told to read the index again', async () => {
    const client = await listen({}, 'bo')
    await look()
    fleet.addUser('bo', { role: 'viewer', groups: ['c'] })
    await look()
    expect(await client.next('resync')).toMatchObject({ id: 's1' })
    for (const name of ['a1', 'c1']) await rename(name)
    await look()
    await client.until(() => deltasOf(client).length === 1)
    expect(deltasOf(client)[0]).toMatchObject({ device_id: ['c1'] })
  })

  test('a filter narrows a subscription, and so do ids', async () => {
    const byGroup = await listen({ filter: { group: 'a' } })
    const byIds = await listen({ filter: { device_ids: ['c1', 'nobody'] } })
    for (const name of ['a2', 'c1']) await rename(name)
    await look()
    for (const [client, id] of [
      [byGroup, 'a2'],
      [byIds, 'c1'],
    ] as const) {
      await client.until(() => deltasOf(client).length === 1)
      expect(deltasOf(client)[0]).toMatchObject({ device_id: [id] })
    }
  })

  test('the table is not checked while nobody is subscribed', async () => {
    const watch = vi.spyOn(fleet.engine.fleet, 'watch')
    const stop = vi.fn()
    watch.mockReturnValue(stop)
    const client = await listen()
    expect([watch.mock.calls.length, stop.mock.calls.length]).toEqual([1, 0])
    client.send({ type: 'unsubscribe', id: 's1' })
    await client.next('unsubscribed')
    expect(stop).toHaveBeenCalledOnce()
  })
})

describe('statistics', () => {
  test('the visible devices are counted each second, and rates are sent to those who see everything', async () => {
    const all = await listen()
    const some = await listen({}, 'bo')
    await look()
    await fleet.connect('a1')
    await fleet.command('c1', 'c_1')
    await fleet.command('a1', 'c_2')
    await fleet.publish('a1', 'command/ack', { request_id: 'c_2', status: 'failed' })
    for (let i = 0; i < 2; i++) await look()
    await all.until(() => eventsOf(all, 'fleet.stats').length === 2)
    await some.until(() => eventsOf(some, 'fleet.stats').length === 2)
    expect(eventsOf(all, 'fleet.stats')[1]).toMatchObject({
      by_status: { provisioning: 2, online: 1 },
      messages_per_sec: 2,
      commands: { open: 1, failed_1h: 1 },
      alerts: { info: 0, warning: 0, critical: 0 },
      deployments_active: 0,
    })
    expect(eventsOf(some, 'fleet.stats')[1]).toMatchObject({
      by_status: { provisioning: 1, online: 1 },
      messages_per_sec: null,
      commands: null,
      deployments_active: null,
    })
  })
})

describe('values', () => {
  test('chosen metrics come with the devices, and only those that changed', async () => {
    const latest = vi.spyOn(fleet.engine.fleet, 'latest')
    await fleet.report('a1', { t: 1, u: 'on' })
    await fleet.report('c1', { t: 2 })
    await look()
    fleet.time.at += 10_000
    const client = await listen({ values: ['t', 'u'], filter: { device_ids: ['a1', 'c1'] } })
    const next = async () => {
      for (let i = 0; i < 4; i++) {
        await look()
        await new Promise(setImmediate)
      }
    }
    await next()
    await client.until(() => deltasOf(client).length === 1)
    expect(deltasOf(client)[0]).toEqual({
      device_id: ['a1', 'c1'],
      rev: [0, 0],
      values: { t: [1, 2], u: ['on', null] },
    })
    const question = { metrics: ['t', 'u'], deviceIds: ['a1', 'c1'], heardAfter: 0 }
    expect(latest.mock.calls[0]).toMatchObject([question])
    await fleet.report('c1', { t: 3 })
    await next()
    await client.until(() => deltasOf(client).length === 2)
    expect(deltasOf(client)[1]).toEqual({ device_id: ['c1'], rev: [0], values: { t: [3], u: [null] } })
  })
})

describe('what is refused', () => {
  test.each([
    [{ channel: 'fleet', throttle_ms: 249 }, 'at least 250'],
    [{ channel: 'fleet', throttle_ms: 500, values: ['m'] }, 'at least 1000'],
    [{ channel: 'fleet', values: ['a', 'b', 'c', 'd', 'e'] }, '/values'],
    [{ channel: 'fleet', snapshot: true }, 'fleet/index'],
    [{ channel: 'fleet', filter: { metrics: ['m'] } }, 'values'],
    [{ channel: 'fleet', filter: { device_ids: [] } }, '/filter/device_ids'],
    [
      {
        channel: 'fleet',
        filter: {
          device_ids: Array.from({ length: BODY_LIMITS.fleetSubscriptionDevicesMax + 1 }, (_, i) => `d${i}`),
        },
      },
      '/filter/device_ids',
    ],
    [{ channel: 'telemetry', values: ['m'] }, 'only for the channel fleet'],
    [{ channel: 'devices', filter: { device_ids: ['a1'] } }, 'only for the channel fleet'],
  ])('a subscription is refused with what to do: %#', async (about, words) => {
    const client = await service.login('ada')
    client.send({ type: 'subscribe', id: 's1', ...about })
    const { problem } = (await client.next('error')) as unknown as {
      problem: { detail: string; status: number }
    }
    expect([problem.status, problem.detail.includes(words)]).toEqual([422, true])
  })

  test('a socket may have a limited number of these subscriptions', async () => {
    const client = await service.login('ada')
    for (let i = 0; i <= 16; i++) client.send({ type: 'subscribe', id: `s${i}`, channel: 'fleet' })
    expect(await client.next('error')).toMatchObject({ id: 's16', problem: { code: 'RATE_LIMIT_EXCEEDED' } })
  })
})

describe('a client that stops reading', () => {
  test('takes one bit per device, gets the latest state when it reads again, and is told how much it missed', async () => {
    const ids = Array.from({ length: 200 }, (_, i) => `device-${i}`)
    for (const id of ids) await fleet.addDevice(id)
    const write = (round: number) =>
      Promise.all(ids.map((id) => rename(id, `${round} ${'with a long name '.repeat(200)}`)))
    await look()
    fleet.time.at += 10_000
    const client = await listen()
    client.socket.pause()
    // Repeats until nothing more is sent, because the kernel's buffers are full.
    let round = 0
    for (let quiet = 0; quiet < 5; ) {
      const before = service.sockets.counts().sent
      round += 1
      await write(round)
      await look()
      quiet = service.sockets.counts().sent === before ? quiet + 1 : 0
    }
    expect(service.sockets.counts().heldBytes).toBe(0)
    client.socket.resume()
    const known = new Map<string, number>()
    let read = 0
    const isKnown = () => {
      for (const { device_id: some, name: column } of deltasOf(client).slice(read)) {
        read += 1
        for (const [i, id] of (some as string[]).entries())
          known.set(id, Number.parseInt((column as string[])[i] ?? '', 10))
      }
      return ids.every((id) => known.get(id) === round)
    }
    // If the frame never comes, the test's timeout ends this loop.
    while (
      !isKnown() ||
      !client.frames.some(({ type, dropped }) => type === 'resync' && Number(dropped) > 0)
    ) {
      await look()
      await new Promise(setImmediate)
    }
  })
})
