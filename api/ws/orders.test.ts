// Shadows and commands on /ws.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../schemas/json.ts'
import type { ReceivedFrame } from './testing/raw-client.ts'
import {
  around,
  id,
  openSocketService,
  type SocketFleet,
  type SocketService,
} from './testing/socket-service.ts'
import { eventsOf, subscribe } from './testing/subscribing.ts'

let service: SocketService
let fleet: SocketFleet

beforeEach(async () => {
  service = await openSocketService()
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('olaf', { role: 'operator', groups: ['eu'] })
  fleet.addUser('vera', { role: 'viewer' })
  await fleet.addDevice('north', { group: 'eu/north' })
  await fleet.addDevice('far', { group: 'us' })
  await fleet.connect('north', 'far')
})
afterEach(() => service.close())

const acknowledge = (request_id: string, ...steps: readonly JsonObject[]) =>
  fleet.publish('north', 'command/ack', ...steps.map((step) => ({ request_id, ...step })))

const dataOf = (events: readonly ReceivedFrame[], field: string) =>
  events.map(({ data }) => Reflect.get(Object(data), field))

describe('the channel of commands', () => {
  test('every step of a command is sent', async () => {
    const client = await service.login('ada')
    await subscribe(client, 'commands')
    await fleet.command('north', 'c1')
    await acknowledge('c1', { status: 'accepted' }, { status: 'completed', result: { ok: true } })
    const events = await eventsOf(client)
    expect(events[0]).toMatchObject({
      channel: 'commands',
      event: 'command.status',
      device_id: 'north',
      seq: 1,
      data: { command_id: 'c1', device_id: 'north', command: 'go', status: 'pending' },
    })
    expect(dataOf(events, 'status')).toEqual(['pending', 'acked', 'completed'])
    expect(events[2]).toMatchObject({ data: { result: { ok: true } } })
  })

  test('is closed to viewers, and ends for a user who becomes a viewer', async () => {
    const vera = await service.login('vera')
    vera.send({ type: 'subscribe', id: 'c', channel: 'commands' })
    const detail = 'needs the role admin or operator; yours is viewer'
    expect(await vera.next('error')).toMatchObject({ id: 'c', problem: { code: 'FORBIDDEN', detail } })
    const olaf = await service.login('olaf')
    await subscribe(olaf, 'commands')
    await subscribe(olaf, 'shadows')
    fleet.addUser('olaf', { role: 'viewer', groups: ['eu'] })
    await fleet.command('north', 'c1')
    await fleet.desire('north', { a: 1 })
    expect((await eventsOf(olaf)).map(({ channel }) => channel)).toEqual(['shadows'])
  })

  test('stays within the operator’s groups', async () => {
    const olaf = await service.login('olaf')
    await subscribe(olaf, 'commands')
    await fleet.command('far', 'c1')
    await fleet.command('north', 'c2')
    expect(dataOf(await eventsOf(olaf), 'command_id')).toEqual(['c2'])
  })

  test('starts with the open commands, and does not send again what was shown', async () => {
    const client = await service.login('ada')
    await fleet.command('north', 'c0')
    await acknowledge('c0', { status: 'completed' })
    around(fleet.engine, 'commands', {
      before: async () => {
        fleet.engine.feed.hold()
        await fleet.command('north', 'c1')
        await acknowledge('c1', { status: 'accepted' })
      },
      after: () => acknowledge('c1', { status: 'in_progress', progress: 5 }),
    })
    await subscribe(client, 'commands', { snapshot: true, filter: { device_id: 'north' } })
    const { data } = await client.next('snapshot')
    expect(data).toMatchObject([{ command_id: 'c1', status: 'acked' }])
    fleet.engine.feed.release()
    expect(dataOf(await eventsOf(client), 'progress')).toEqual([5])
  })

  test('a throttle keeps the last step of each command', async () => {
    const client = await service.login('ada')
    await subscribe(client, 'commands', { throttle_ms: 1_000 })
    for (const command of ['c1', 'c2']) {
      await fleet.command('north', command)
      await acknowledge(command, { status: 'accepted' }, { status: 'completed' })
    }
    await eventsOf(client)
    fleet.time.at += 1_000
    const events = await eventsOf(client)
    const steps = events.map(
      ({ data }) => `${Reflect.get(Object(data), 'command_id')} ${Reflect.get(Object(data), 'status')}`,
    )
    expect(steps).toEqual(['c1 pending', 'c2 pending', 'c1 completed', 'c2 completed'])
  })
})

describe('the channel of shadows', () => {
  test('sends every change, with its author', async () => {
    const client = await service.login('vera')
    await subscribe(client, 'shadows')
    for (const a of [1, 2]) await fleet.desire('north', { a })
    const events = await eventsOf(client)
    expect(events[1]).toMatchObject({
      channel: 'shadows',
      event: 'shadow.updated',
      device_id: 'north',
      data: {
        version: 2,
        section: 'desired',
        actor: { type: 'user', id: 'usr_a' },
        patch: { a: 2 },
        previous: { a: 1 },
        request_id: null,
      },
    })
  })

  test('starts with the documents, and continues with changes that they do not show', async () => {
    const client = await service.login('olaf')
    await fleet.desire('far', { x: 1 })
    around(fleet.engine, 'shadow', {
      before: async () => {
        fleet.engine.feed.hold()
        await fleet.desire('north', { a: 1 })
      },
      after: () => fleet.desire('north', { a: 2 }),
    })
    await subscribe(client, 'shadows', { snapshot: true })
    const { data } = await client.next('snapshot')
    expect(data).toMatchObject([{ device_id: 'north', version: 1, desired: { a: 1 }, delta: { a: 1 } }])
    fleet.engine.feed.release()
    expect(dataOf(await eventsOf(client), 'version')).toEqual([2])
    expect((await fleet.engine.shadow(id('north')))?.version).toBe(2)
  })
})
