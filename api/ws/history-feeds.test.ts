import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FakeFleet, type FakeService, openFakeService } from './testing/fake-fleet.ts'
import type { RawClient } from './testing/raw-client.ts'
import { eventsOf } from './testing/subscribing.ts'

let service: FakeService
let fleet: FakeFleet

beforeEach(async () => {
  service = await openFakeService({ snapshotEntriesMax: 3 })
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('olaf', { role: 'operator', groups: ['eu'] })
  fleet.addUser('vera', { role: 'viewer' })
  fleet.addDevice('north', { group: 'eu/north' })
  fleet.addDevice('loose')
})
afterEach(() => service.close())

async function subscribe(client: RawClient, frame: Record<string, unknown>): Promise<void> {
  client.send({ type: 'subscribe', id: 's1', ...frame })
  await client.next('subscribed', (got) => got['id'] === (frame['id'] ?? 's1'))
}

const line = (name: string, message: string) => fleet.row(name, 'log', { level: 'warn', message })
const moved = (name: string, to: string) => fleet.row(name, 'status', { from: 'online', to })

describe('the channel logs', () => {
  test('tells each line as the log of the device shows it', async () => {
    const client = await service.login('vera')
    await subscribe(client, { channel: 'logs' })
    fleet.tell(line('north', 'hot'), moved('north', 'offline'))
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

  test('keeps to filter and scope', async () => {
    const olaf = await service.login('olaf')
    const ada = await service.login('ada')
    await subscribe(olaf, { channel: 'logs' })
    await subscribe(ada, { channel: 'logs', filter: { device_id: 'loose' } })
    fleet.tell(line('north', 'n'), line('loose', 'l'))
    expect((await eventsOf(olaf)).map(({ device_id }) => device_id)).toEqual(['north'])
    expect((await eventsOf(ada)).map(({ device_id }) => device_id)).toEqual(['loose'])
  })
})

describe('the channel events', () => {
  test('tells each entry as the timeline shows it, under the name of what happened', async () => {
    const client = await service.login('ada')
    await subscribe(client, { channel: 'events' })
    fleet.tell(
      moved('north', 'offline'),
      fleet.row('north', 'command', { command_id: 'c1', status: 'acked' }),
      fleet.row('loose', 'shadow', { version: 3 }),
    )
    const at = '2026-01-01T00:00:00.000Z'
    expect((await eventsOf(client)).map(({ event, device_id, data }) => [event, device_id, data])).toEqual([
      ['device.status', 'north', { timestamp: at, kind: 'status', data: { from: 'online', to: 'offline' } }],
      [
        'command.status',
        'north',
        { timestamp: at, kind: 'command', data: { command_id: 'c1', status: 'acked' } },
      ],
      ['shadow.updated', 'loose', { timestamp: at, kind: 'shadow', data: { version: 3 } }],
    ])
  })

  test('tells a viewer nothing of commands, live or in the snapshot', async () => {
    const vera = await service.login('vera')
    const ada = await service.login('ada')
    fleet.row('north', 'command', { status: 'pending' })
    moved('north', 'error')
    const frame = { channel: 'events', snapshot: true, filter: { device_id: 'north' } }
    await subscribe(vera, frame)
    await subscribe(ada, frame)
    const kinds = async (client: RawClient) => {
      const { data } = await client.next('snapshot')
      fleet.tell(fleet.row('north', 'command', { status: 'acked' }), moved('north', 'offline'))
      const told = (await eventsOf(client)).map(({ data: each }) => each)
      return [data, told].map((some) => (some as { kind: string }[]).map(({ kind }) => kind))
    }
    expect(await kinds(vera)).toEqual([['status'], ['status']])
    expect(await kinds(ada)).toMatchObject([['status', 'command'], {}])
  })
})

test('what is not listened to is not asked of the engine', async () => {
  const client = await service.login('ada')
  const nobody = { all: false, devices: new Set() }
  await subscribe(client, { id: 'l', channel: 'logs', filter: { device_id: 'north' } })
  const north = { all: false, devices: new Set(['north']) }
  expect(fleet.wishes.at(-1)).toEqual({ telemetry: nobody, timeline: nobody, log: north })
  await subscribe(client, { id: 'e', channel: 'events' })
  expect(fleet.wishes.at(-1)).toEqual({
    telemetry: nobody,
    timeline: { all: true, devices: new Set() },
    log: north,
  })
  client.send({ type: 'unsubscribe', id: 'l' })
  await expect.poll(() => fleet.wishes.at(-1)?.log).toEqual(nobody)
})

describe('a snapshot', () => {
  test('has the newest entries, says if there are more, and no entry comes twice', async () => {
    const client = await service.login('ada')
    const lines = ['a', 'b', 'c', 'd'].map((message) => line('north', message))
    line('loose', 'x')
    fleet.afterAnswer = () => fleet.tell(...lines.slice(2), line('north', 'e'))
    await subscribe(client, { channel: 'logs', snapshot: true, filter: { device_id: 'north' } })
    const { data, truncated, total } = await client.next('snapshot')
    expect([truncated, total]).toEqual([true, undefined])
    expect(data).toMatchObject([
      { device_id: 'north', message: 'd', logger: null },
      { message: 'c' },
      { message: 'b' },
    ])
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
    for (const message of ['a', 'b', 'c']) line('north', message)
    line('loose', 'x')
    expect(await snapshotOf('ada', {})).toEqual([['loose x', 'north c', 'north b'], true])
    expect(await snapshotOf('ada', { group: 'eu' })).toEqual([['north c', 'north b', 'north a'], false])
    expect(await snapshotOf('olaf', {})).toEqual([['north c', 'north b', 'north a'], false])
    expect(await snapshotOf('ada', { group: 'us' })).toEqual([[], false])
  })

  test('a snapshot of many devices shows viewers no commands, and no entry comes twice', async () => {
    const client = await service.login('vera')
    fleet.row('loose', 'command', { command: 'go' })
    fleet.afterAnswer = () => fleet.tell(moved('north', 'error'))
    moved('loose', 'offline')
    const told = moved('north', 'online')
    await subscribe(client, { channel: 'events', snapshot: true })
    const { data } = await client.next('snapshot')
    expect(data).toMatchObject([{ device_id: 'north' }, { device_id: 'loose', kind: 'status' }])
    fleet.tell(told)
    expect((await eventsOf(client)).map((event) => event['data'])).toMatchObject([{ data: { to: 'error' } }])
  })
})

test('a throttle holds nothing back: each line counts', async () => {
  const client = await service.login('ada')
  await subscribe(client, { channel: 'logs', throttle_ms: 60_000 })
  fleet.tell(line('north', 'a'), line('north', 'b'))
  expect((await eventsOf(client)).map(({ data }) => data)).toMatchObject([{ message: 'a' }, { message: 'b' }])
})
