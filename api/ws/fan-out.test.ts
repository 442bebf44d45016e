import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RawClient, ReceivedFrame } from './testing/raw-client.ts'
import {
  around,
  openSocketService,
  type SocketFleet,
  type SocketService,
  START,
} from './testing/socket-service.ts'
import { eventsOf } from './testing/subscribing.ts'

let service: SocketService
let fleet: SocketFleet

beforeEach(async () => {
  service = await openSocketService({ snapshotDevicesMax: 5 })
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('olaf', { role: 'operator', groups: ['eu'] })
  fleet.addUser('vera', { role: 'viewer' })
  await fleet.addDevice('north', { group: 'eu/north', tags: ['red', 'big'] })
  await fleet.addDevice('europe', { group: 'europe', type: 'gateway' })
  await fleet.addDevice('loose')
  await fleet.connect('north', 'europe', 'loose')
})
afterEach(() => service.close())

async function subscribe(client: RawClient, frame: Record<string, unknown>): Promise<void> {
  client.send({ type: 'subscribe', id: 's1', channel: 'telemetry', ...frame })
  await client.next('subscribed', (got) => got['id'] === (frame['id'] ?? 's1'))
}

async function reportAndRename(name: string): Promise<void> {
  await fleet.report(name, { n: 1 })
  await fleet.edit(name, { name: `${name} renamed` })
}

const devicesOf = (events: readonly ReceivedFrame[]) => events.map((event) => event['device_id'])

describe('an event', () => {
  test('a telemetry event holds what the device reported', async () => {
    const client = await service.login('ada')
    await subscribe(client, {})
    await fleet.report('north', { odom: { x: 1.5 }, ok: true })
    expect(await eventsOf(client)).toEqual([
      {
        type: 'event',
        id: 's1',
        seq: 1,
        ts: '2026-01-01T00:00:00.000Z',
        channel: 'telemetry',
        event: 'telemetry',
        device_id: 'north',
        data: { timestamp: '2026-01-01T00:00:00.000Z', data: { odom: { x: 1.5 }, ok: true } },
      },
    ])
  })

  test('a device event shows the device', async () => {
    const client = await service.login('vera')
    await subscribe(client, { channel: 'devices' })
    await fleet.edit('north', { name: 'North' })
    const [event] = await eventsOf(client)
    expect(event).toMatchObject({
      channel: 'devices',
      event: 'device.updated',
      device_id: 'north',
      data: { device_id: 'north', name: 'North', status: 'online', connectivity: { connected: true } },
    })
  })

  test('an event reaches each matching subscription, numbered by subscription', async () => {
    const client = await service.login('ada')
    await subscribe(client, { id: 'a' })
    await subscribe(client, { id: 'b', filter: { device_id: 'north' } })
    await Promise.all([fleet.report('north', { n: 1 }), fleet.report('loose', { n: 2 })])
    await fleet.report('north', { n: 3 })
    const events = await eventsOf(client)
    expect(events.map(({ id, seq, device_id }) => `${id}${seq} ${device_id}`)).toEqual([
      'b1 north',
      'a1 north',
      'a2 loose',
      'b2 north',
      'a3 north',
    ])
  })
})

describe('a filter', () => {
  test.each([
    [{ group: 'eu' }, ['north']],
    [{ group: 'eu/north' }, ['north']],
    [{ type: 'gateway' }, ['europe']],
    [{ tag: 'big' }, ['north']],
    [{ tag: 'big', type: 'gateway' }, []],
    [{ device_id: 'loose' }, ['loose']],
    [{ device_id: 'loose', group: 'eu' }, []],
    [{}, ['north', 'europe', 'loose']],
  ])('%j lets through %j, on both channels', async (filter, expected) => {
    const client = await service.login('ada')
    await subscribe(client, { id: 't', filter })
    await subscribe(client, { id: 'd', filter, channel: 'devices' })
    for (const name of ['north', 'europe', 'loose']) await reportAndRename(name)
    const events = await eventsOf(client)
    expect(devicesOf(events.filter(({ channel }) => channel === 'telemetry'))).toEqual(expected)
    expect(devicesOf(events.filter(({ channel }) => channel === 'devices'))).toEqual(expected)
  })

  test('a filter of metrics selects names and everything below them', async () => {
    const client = await service.login('ada')
    await subscribe(client, { filter: { metrics: ['odom', 'battery.percent'] } })
    await fleet.report('north', { odom: { x: 1 }, odometer: 5, battery: { percent: 50, volts: 12 } })
    await fleet.report('north', { odometer: 6 })
    await fleet.report('north', { 'battery.percent': 49 })
    const events = await eventsOf(client)
    expect(events.map(({ data }) => (data as { data: unknown }).data)).toEqual([
      { odom: { x: 1 }, battery: { percent: 50 } },
      { 'battery.percent': 49 },
    ])
  })

  test('a filter that names an absent device, or one out of scope, is answered with 404', async () => {
    const client = await service.login('olaf')
    for (const device of ['nobody', 'europe'])
      client.send({ type: 'subscribe', id: device, channel: 'telemetry', filter: { device_id: device } })
    await client.next('error', ({ id }) => id === 'europe')
    expect(client.frames.slice(1)).toMatchObject([
      { type: 'error', id: 'nobody', problem: { code: 'NOT_FOUND', status: 404 } },
      { type: 'error', id: 'europe', problem: { code: 'NOT_FOUND', status: 404 } },
    ])
  })

  test('the engine is told which devices’ telemetry is wanted', async () => {
    const client = await service.login('ada')
    await subscribe(client, { id: 'a', filter: { device_id: 'north' } })
    expect(fleet.wanted.at(-1)?.telemetry).toEqual({ all: false, devices: new Set(['north']) })
    await subscribe(client, { id: 'b', channel: 'devices' })
    expect(fleet.wanted.at(-1)?.telemetry).toEqual({ all: false, devices: new Set(['north']) })
    await subscribe(client, { id: 'c', filter: { group: 'eu' } })
    expect(fleet.wanted.at(-1)?.telemetry).toEqual({ all: true, devices: new Set(['north']) })
    client.send({ type: 'unsubscribe', id: 'c' })
    client.send({ type: 'unsubscribe', id: 'a' })
    await client.next('unsubscribed', ({ id }) => id === 'a')
    await expect.poll(() => fleet.wanted.at(-1)?.telemetry).toEqual({ all: false, devices: new Set() })
  })
})

describe('a scope', () => {
  test('a scope is evaluated at the time of the event', async () => {
    const client = await service.login('olaf')
    await subscribe(client, { id: 't' })
    await subscribe(client, { id: 'd', channel: 'devices' })
    for (const name of ['north', 'europe', 'loose']) await reportAndRename(name)
    expect(devicesOf(await eventsOf(client))).toEqual(['north', 'north'])
    // A device leaves the operator's groups, another enters them, and then the operator's groups change.
    await fleet.edit('north', { group: 'us' })
    await fleet.report('north', { n: 2 })
    await fleet.edit('loose', { group: 'eu' })
    await fleet.report('loose', { n: 2 })
    expect(devicesOf(await eventsOf(client))).toEqual(['north', 'north', 'loose', 'loose'])
    fleet.addUser('olaf', { role: 'operator', groups: ['us'] })
    await fleet.report('loose', { n: 3 })
    await fleet.report('north', { n: 3 })
    expect(devicesOf(await eventsOf(client)).slice(4)).toEqual(['north'])
  })

  test('a viewer’s feed leaves out what is done to devices', async () => {
    const client = await service.login('vera')
    client.send({ type: 'subscribe', id: 'c', channel: 'commands' })
    expect(await client.next('error')).toMatchObject({ id: 'c', problem: { code: 'FORBIDDEN' } })
  })
})

describe('a snapshot', () => {
  test('a snapshot of devices shows those that match and are in scope, up to the limit', async () => {
    const client = await service.login('olaf')
    client.send({ type: 'subscribe', id: 's1', channel: 'devices', snapshot: true })
    const { data } = await client.next('snapshot')
    expect(devicesOf(data as ReceivedFrame[])).toEqual(['north'])
    for (let i = 0; i < 9; i++) await fleet.addDevice(`more-${i}`, { group: 'eu' })
    client.send({ type: 'subscribe', id: 's2', channel: 'devices', snapshot: true })
    const large = await client.next('snapshot', (frame) => frame['id'] === 's2')
    expect(large).toMatchObject({ total: 10, truncated: true })
    expect(large['data']).toHaveLength(5)
  })

  test('a snapshot of telemetry shows the latest values of each device, filtered like the events', async () => {
    await fleet.report('north', { odom: { x: 1 }, battery: 50 })
    const client = await service.login('ada')
    const filter = { metrics: ['battery'] }
    client.send({ type: 'subscribe', id: 's1', channel: 'telemetry', snapshot: true, filter })
    expect(await client.next('snapshot')).toMatchObject({
      id: 's1',
      data: [
        { device_id: 'europe', timestamp: null, data: {} },
        { device_id: 'loose', timestamp: null, data: {} },
        { device_id: 'north', timestamp: '2026-01-01T00:00:00.000Z', data: { battery: 50 } },
      ],
      total: 3,
      truncated: false,
    })
  })

  const ofNorth = { id: 's1', snapshot: true, filter: { device_id: 'north' } }
  const numbersOf = (events: readonly ReceivedFrame[]) =>
    events.map(({ data }) => (data as { data: { n: number } }).data.n)

  test('the reports after a snapshot follow it: none is missing and none comes twice', async () => {
    let n = 0
    const report = () => fleet.report('north', { timestamp: START + ++n, n })
    around(fleet.engine, 'snapshot', {
      before: async () => {
        for (let i = 0; i < 5; i++) await report()
      },
      after: report,
    })
    const client = await service.login('ada')
    await report()
    client.send({ type: 'subscribe', channel: 'telemetry', ...ofNorth })
    const snapshot = await client.next('snapshot')
    await report()
    const events = await eventsOf(client)
    expect(client.frames.map(({ type }) => type).slice(0, 3)).toEqual(['auth_ok', 'subscribed', 'snapshot'])
    const [shown] = snapshot['data'] as { data: { n: number } }[]
    expect([shown?.data.n, n]).toEqual([6, 8])
    expect(numbersOf(events)).toEqual([7, 8])
    expect(events.map(({ seq }) => seq)).toEqual([1, 2])
  })

  test('a report that the snapshot shows is not sent after it', async () => {
    const client = await service.login('ada')
    around(fleet.engine, 'snapshot', {
      before: async () => {
        fleet.engine.feed.hold()
        for (const n of [1, 2]) await fleet.report('north', { timestamp: START + n, n })
      },
    })
    client.send({ type: 'subscribe', channel: 'telemetry', ...ofNorth })
    expect(await client.next('snapshot')).toMatchObject({ data: [{ data: { n: 2 } }] })
    for (const at of [3, 2]) await fleet.report('north', { timestamp: START + at, n: at })
    fleet.engine.feed.release()
    // From the first report that the snapshot does not show, everything is new, whatever its time.
    expect(numbersOf(await eventsOf(client))).toEqual([3, 2])
  })

  test('a report after the snapshot is sent even if it was measured before', async () => {
    const client = await service.login('ada')
    await fleet.report('north', { n: 1 })
    client.send({ type: 'subscribe', channel: 'telemetry', ...ofNorth })
    await client.next('snapshot')
    await fleet.report('north', { timestamp: START - 9_000, n: 2 })
    expect(numbersOf(await eventsOf(client))).toEqual([2])
  })

  test('reports that the snapshot shows are not sent after it, even if others have the same millisecond', async () => {
    const client = await service.login('ada')
    around(fleet.engine, 'snapshot', {
      before: async () => {
        fleet.engine.feed.hold()
        for (const n of [1, 2]) await fleet.report('north', { timestamp: START, n })
      },
    })
    client.send({ type: 'subscribe', channel: 'telemetry', ...ofNorth })
    expect(await client.next('snapshot')).toMatchObject({ data: [{ data: { n: 2 } }] })
    fleet.engine.feed.release()
    await fleet.report('north', { timestamp: START, n: 3 })
    expect(numbersOf(await eventsOf(client))).toEqual([3])
  })

  test('a report of the same millisecond that the snapshot does not show is sent', async () => {
    const client = await service.login('ada')
    around(fleet.engine, 'snapshot', {
      before: () => fleet.report('north', { a: 1 }),
      after: () => fleet.report('north', { b: 2 }),
    })
    client.send({ type: 'subscribe', channel: 'telemetry', ...ofNorth })
    expect(await client.next('snapshot')).toMatchObject({ data: [{ data: { a: 1 } }] })
    expect((await eventsOf(client)).map(({ data }) => data)).toMatchObject([{ data: { b: 2 } }])
  })

  test('the changes of devices after a snapshot follow it', async () => {
    const client = await service.login('ada')
    const rename = (name: string) => fleet.edit('north', { name })
    around(fleet.engine, 'views', {
      before: async () => {
        for (const name of ['first', 'second']) await rename(name)
      },
      after: () => rename('third'),
    })
    client.send({ type: 'subscribe', channel: 'devices', ...ofNorth })
    expect(await client.next('snapshot')).toMatchObject({ data: [{ device_id: 'north', name: 'second' }] })
    expect((await eventsOf(client)).map(({ data }) => (data as { name: string }).name)).toEqual(['third'])
  })

  test('a snapshot that cannot be made leaves no subscription behind', async () => {
    const client = await service.login('ada')
    fleet.engine.views = async () => {
      throw new Error('broken')
    }
    client.send({ type: 'subscribe', id: 's1', channel: 'devices', snapshot: true })
    expect(await client.next('error')).toMatchObject({ id: 's1', problem: { code: 'INTERNAL' } })
    expect(service.sockets.counts().subscriptions).toBe(0)
  })
})

describe('a throttle', () => {
  test('sends the first report at once and the last one of an interval at its end', async () => {
    const client = await service.login('ada')
    await subscribe(client, { throttle_ms: 1_000 })
    for (let n = 1; n <= 5; n++) {
      await fleet.report('north', { n })
      await fleet.report('loose', { n })
      fleet.time.at += 100
    }
    const values = async () =>
      (await eventsOf(client)).map(({ device_id, data }) => {
        return `${device_id} ${(data as { data: { n: number } }).data.n}`
      })
    expect(await values()).toEqual(['north 1', 'loose 1'])
    fleet.time.at += 500
    expect(await values()).toEqual(['north 1', 'loose 1', 'north 5', 'loose 5'])
    fleet.time.at += 5_000
    await fleet.report('north', { n: 6 })
    expect((await values()).slice(4)).toEqual(['north 6'])
    expect(service.sockets.counts()).toMatchObject({ throttled: 6, dropped: 0 })
  })

  test('keeps metrics that only an earlier report of the interval had', async () => {
    const client = await service.login('ada')
    await subscribe(client, { throttle_ms: 1_000 })
    await fleet.report('north', { start: 0 })
    await fleet.report('north', { odom: { x: 1, y: 1 } })
    await fleet.report('north', { odom: { x: 2 }, battery: 50 })
    fleet.time.at += 1_000
    const [, event] = await eventsOf(client)
    expect(event).toMatchObject({ data: { data: { odom: { x: 2, y: 1 }, battery: 50 } } })
  })
})
