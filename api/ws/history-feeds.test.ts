import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RawClient } from './testing/raw-client.ts'
import { around, openSocketService, type SocketFleet, type SocketService } from './testing/socket-service.ts'
import { eventsOf } from './testing/subscribing.ts'

let service: SocketService
let fleet: SocketFleet

beforeEach(async () => {
  service = await openSocketService({ snapshotEntriesMax: 3 })
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('olaf', { role: 'operator', groups: ['eu'] })
  fleet.addUser('vera', { role: 'viewer' })
  await fleet.addDevice('north', { group: 'eu/north' })
  await fleet.addDevice('loose')
  await fleet.connect('north', 'loose')
})
afterEach(() => service.close())

async function subscribe(client: RawClient, frame: Record<string, unknown>): Promise<void> {
  client.send({ type: 'subscribe', id: 's1', ...frame })
  await client.next('subscribed', (got) => got['id'] === (frame['id'] ?? 's1'))
}

const line = (name: string, ...messages: readonly string[]) =>
  fleet.publish(name, 'log', ...messages.map((message) => ({ level: 'warn', message })))
const turn = (name: string, status: string) => fleet.edit(name, { status })

describe('the channel logs', () => {
  test('sends each line as the log of the device shows it', async () => {
    const client = await service.login('vera')
    await subscribe(client, { channel: 'logs' })
    await line('north', 'hot')
    await turn('north', 'maintenance')
    expect(await eventsOf(client)).toEqual([
      {
        type: 'event',
        id: 's1',
        seq: 1,
        ts: '2026-01-01T00:00:00.000Z',
        channel: 'logs',
        event: 'device.log',
        device_id: 'north',
        data: {
          timestamp: '2026-01-01T00:00:00.000Z',
          level: 'warn',
          message: 'hot',
          logger: null,
          fields: {},
        },
      },
    ])
  })

  test('respects filter and scope', async () => {
    const olaf = await service.login('olaf')
    const ada = await service.login('ada')
    await subscribe(olaf, { channel: 'logs' })
    await subscribe(ada, { channel: 'logs', filter: { device_id: 'loose' } })
    await line('north', 'n')
    await line('loose', 'l')
    expect((await eventsOf(olaf)).map(({ device_id }) => device_id)).toEqual(['north'])
    expect((await eventsOf(ada)).map(({ device_id }) => device_id)).toEqual(['loose'])
  })
})

test('events that were lost between nodes become a resync of each subscription', async () => {
  const [ada, olaf] = [await service.login('ada'), await service.login('olaf')]
  await subscribe(ada, { channel: 'logs' })
  await subscribe(olaf, { channel: 'events', filter: { device_id: 'north' } })
  fleet.engine.feed.lose()
  for (const client of [ada, olaf]) expect(await client.next('resync')).toMatchObject({ dropped: 1 })
})

describe('the channel events', () => {
  test('sends each entry as the timeline shows it, named after what happened', async () => {
    const client = await service.login('ada')
    await subscribe(client, { channel: 'events' })
    await turn('north', 'maintenance')
    await fleet.command('north', 'c1')
    await fleet.desire('loose', { lamp: true })
    const timestamp = '2026-01-01T00:00:00.000Z'
    expect((await eventsOf(client)).map(({ event, device_id, data }) => [event, device_id, data])).toEqual([
      [
        'device.status',
        'north',
        { timestamp, kind: 'status', data: expect.objectContaining({ from: 'online', to: 'maintenance' }) },
      ],
      [
        'command.status',
        'north',
        {
          timestamp,
          kind: 'command',
          data: expect.objectContaining({ command_id: 'c1', status: 'pending' }),
        },
      ],
      [
        'shadow.updated',
        'loose',
        { timestamp, kind: 'shadow', data: expect.objectContaining({ version: 1 }) },
      ],
    ])
  })

  test('sends a viewer no commands, live or in the snapshot', async () => {
    const vera = await service.login('vera')
    const ada = await service.login('ada')
    await fleet.command('north', 'c1')
    fleet.time.at += 1
    await turn('north', 'maintenance')
    await fleet.settle()
    const frame = { channel: 'events', snapshot: true, filter: { device_id: 'north' } }
    await subscribe(vera, frame)
    await subscribe(ada, frame)
    const shots = await Promise.all([vera, ada].map((client) => client.next('snapshot')))
    await fleet.command('north', 'c2')
    await turn('north', 'online')
    const kinds = async (client: RawClient, i: number) => {
      const told = (await eventsOf(client)).map(({ data: each }) => each)
      return [shots[i]?.['data'], told].map((some) => (some as { kind: string }[]).map(({ kind }) => kind))
    }
    expect(await kinds(vera, 0)).toEqual([['status', 'status', 'status'], ['status']])
    expect(await kinds(ada, 1)).toEqual([
      ['status', 'command', 'status'],
      ['command', 'status'],
    ])
  })
})

test('the engine is not asked for events that nobody subscribed to', async () => {
  const client = await service.login('ada')
  const nobody = { all: false, devices: new Set() }
  await subscribe(client, { id: 'l', channel: 'logs', filter: { device_id: 'north' } })
  const north = { all: false, devices: new Set(['north']) }
  expect(fleet.wanted.at(-1)).toEqual({ telemetry: nobody, timeline: nobody, log: north })
  await subscribe(client, { id: 'e', channel: 'events' })
  expect(fleet.wanted.at(-1)).toEqual({
    telemetry: nobody,
    timeline: { all: true, devices: new Set() },
    log: north,
  })
  client.send({ type: 'unsubscribe', id: 'l' })
  await expect.poll(() => fleet.wanted.at(-1)?.log).toEqual(nobody)
})

describe('a snapshot', () => {
  test('has the newest entries, says if there are more, and no entry comes twice', async () => {
    const client = await service.login('ada')
    await line('north', 'a', 'b')
    await line('loose', 'x')
    around(fleet.engine, 'history', {
      before: async () => {
        fleet.engine.feed.hold()
        await line('north', 'c', 'd')
        await fleet.settle()
      },
      after: () => line('north', 'e'),
    })
    await subscribe(client, { channel: 'logs', snapshot: true, filter: { device_id: 'north' } })
    const { data, truncated, total } = await client.next('snapshot')
    expect([truncated, total]).toEqual([true, undefined])
    expect(data).toMatchObject([
      { device_id: 'north', message: 'd', logger: null },
      { message: 'c' },
      { message: 'b' },
    ])
    fleet.engine.feed.release()
    expect((await eventsOf(client)).map((event) => event['data'])).toMatchObject([{ message: 'e' }])
  })

  test('a snapshot of many devices has the newest entries of those that the user may see', async () => {
    const snapshotOf = async (user: string, filter: object) => {
      const client = await service.login(user)
      await subscribe(client, { channel: 'logs', snapshot: true, filter })
      const { data, truncated } = await client.next('snapshot')
      // Every item is an entry.
      const entries = data as { device_id: string; message: string }[]
      return [entries.map(({ device_id, message }) => `${device_id} ${message}`), truncated]
    }
    await line('north', 'a', 'b', 'c')
    fleet.time.at += 1
    await line('loose', 'x')
    await fleet.settle()
    expect(await snapshotOf('ada', {})).toEqual([['loose x', 'north c', 'north b'], true])
    expect(await snapshotOf('ada', { group: 'eu' })).toEqual([['north c', 'north b', 'north a'], false])
    expect(await snapshotOf('olaf', {})).toEqual([['north c', 'north b', 'north a'], false])
    expect(await snapshotOf('ada', { group: 'us' })).toEqual([[], false])
  })

  test('a snapshot of many devices shows viewers no commands, and no entry comes twice', async () => {
    const client = await service.login('vera')
    await fleet.command('loose', 'c1')
    around(fleet.engine, 'fleetHistory', {
      before: async () => {
        fleet.engine.feed.hold()
        await turn('loose', 'maintenance')
        fleet.time.at += 1
        await turn('north', 'maintenance')
        await fleet.settle()
      },
      after: () => turn('north', 'online'),
    })
    await subscribe(client, { channel: 'events', snapshot: true })
    const { data } = await client.next('snapshot')
    expect(data).toMatchObject([
      { device_id: 'north', kind: 'status' },
      { device_id: 'loose', kind: 'status' },
      { kind: 'status' },
    ])
    fleet.engine.feed.release()
    expect((await eventsOf(client)).map((event) => event['data'])).toMatchObject([{ data: { to: 'online' } }])
  })
})

test('a throttle holds nothing back, because each line counts', async () => {
  const client = await service.login('ada')
  await subscribe(client, { channel: 'logs', throttle_ms: 60_000 })
  await line('north', 'a', 'b')
  expect((await eventsOf(client)).map(({ data }) => data)).toMatchObject([{ message: 'a' }, { message: 'b' }])
})
