import { afterEach, beforeEach, expect, test } from 'vitest'
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
  service = await openSocketService({ snapshotEntriesMax: 3 })
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('olaf', { role: 'operator' })
  await fleet.addDevice('north', { group: 'eu/north' })
  await fleet.addDevice('loose')
})
afterEach(() => service.close())

async function audit(action: string, name?: string): Promise<void> {
  const about = name === undefined ? {} : { deviceId: id(name) }
  await fleet.engine.record([{ actor: { type: 'anonymous' }, action, ...about, outcome: 'refused' }])
}

test('entries of the audit and dead letters are sent to admins as REST shows them', async () => {
  const client = await service.login('ada')
  await subscribe(client, 'audit')
  await audit('mqtt.connect', 'north')
  await audit('login')
  await fleet.publishText('loose', 'status', 'rubbish')
  const events = (await eventsOf(client)).slice(0, 3)
  expect(events.map(({ event, device_id }) => [event, device_id])).toEqual([
    ['audit.recorded', 'north'],
    ['audit.recorded', null],
    ['dead_letter.added', 'loose'],
  ])
  expect(events.map(({ data }) => data)).toMatchObject([
    { action: 'mqtt.connect', device_id: 'north', outcome: 'refused' },
    { action: 'login', device_id: null },
    { id: expect.stringMatching(/^dl_/), reason: 'MALFORMED_STATUS', payload: 'rubbish', replayable: true },
  ])
})

test('operators and viewers may not subscribe', async () => {
  const client = await service.login('olaf')
  client.send({ type: 'subscribe', id: 's1', channel: 'audit' })
  const refused = await client.next('error')
  expect(refused).toMatchObject({ id: 's1', problem: { code: 'FORBIDDEN' } })
})

test('the filter works as on other channels, and accepts a device that does not exist', async () => {
  const ofGroup = await service.login('ada')
  await subscribe(ofGroup, 'audit', { filter: { group: 'eu' } })
  const ofStranger = await service.login('ada')
  await subscribe(ofStranger, 'audit', { filter: { device_id: 'stranger' } })
  await audit('mqtt.connect', 'stranger')
  await audit('editDevice', 'north')
  await audit('editDevice', 'loose')
  await audit('login')
  expect((await eventsOf(ofGroup)).map(({ device_id }) => device_id)).toEqual(['north'])
  expect((await eventsOf(ofStranger)).map(({ device_id }) => device_id)).toEqual(['stranger'])
})

test('a snapshot has the newest entries, and what it shows is not sent again', async () => {
  for (const name of ['loose', 'north', 'north', 'loose', 'north']) await audit('editDevice', name)
  around(fleet.engine, 'audit', {
    before: async () => {
      fleet.engine.feed.hold()
      await audit('editDevice', 'north')
      await fleet.settle()
    },
    after: () => audit('decommissionDevice', 'north'),
  })
  const client = await service.login('ada')
  await subscribe(client, 'audit', { filter: { device_id: 'north' }, snapshot: true })
  const shot = await client.next('snapshot')
  expect(shot['truncated']).toBe(true)
  expect(shot['data']).toMatchObject(
    Array.from({ length: 3 }, () => ({ action: 'editDevice', device_id: 'north' })),
  )
  fleet.engine.feed.release()
  expect((await eventsOf(client)).map(({ data }) => data)).toMatchObject([{ action: 'decommissionDevice' }])
})

test('a snapshot of a group has its entries, even if there are many newer ones about others', async () => {
  await audit('editDevice', 'north')
  for (let i = 0; i < 10; i++) await audit('login')
  await fleet.settle()
  const client = await service.login('ada')
  await subscribe(client, 'audit', { filter: { group: 'eu' }, snapshot: true })
  const shot = await client.next('snapshot')
  expect(shot).toMatchObject({ data: [{ action: 'editDevice', device_id: 'north' }], truncated: false })
})
