import { afterEach, beforeEach, expect, test } from 'vitest'
import { Micros } from '../../schemas/ids.ts'
import { type FakeFleet, type FakeService, id, openFakeService } from './testing/fake-fleet.ts'
import { eventsOf, subscribe } from './testing/subscribing.ts'

let service: FakeService
let fleet: FakeFleet

beforeEach(async () => {
  service = await openFakeService({ snapshotEntriesMax: 3 })
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('olaf', { role: 'operator' })
  fleet.addDevice('north', { group: 'eu/north' })
  fleet.addDevice('loose')
})
afterEach(() => service.close())

const letterOf = (name: string) => {
  const deviceId = id(name)
  return {
    kind: 'dead_letter',
    event: 'dead_letter.added',
    deviceId,
    at: fleet.time.now(),
    letter: {
      id: 'dl_1_2_0',
      deviceId,
      topic: `fleet/${name}/status`,
      reason: 'MALFORMED_STATUS',
      detail: 'not JSON',
      payload: Buffer.from('rubbish'),
      payloadBytes: 7,
      receivedAt: Micros(fleet.time.now() * 1000),
    },
  } as const
}

test('entries of the audit and dead letters are told to admins as REST shows them', async () => {
  const client = await service.login('ada')
  await subscribe(client, 'audit')
  fleet.tell(fleet.audit('mqtt.connect', 'north'), fleet.audit('login'), letterOf('loose'))
  const events = await eventsOf(client)
  expect(events.map(({ event, device_id }) => [event, device_id])).toEqual([
    ['audit.recorded', 'north'],
    ['audit.recorded', null],
    ['dead_letter.added', 'loose'],
  ])
  expect(events.map(({ data }) => data)).toMatchObject([
    { action: 'mqtt.connect', device_id: 'north', outcome: 'refused' },
    { action: 'login', device_id: null },
    { id: 'dl_1_2_0', reason: 'MALFORMED_STATUS', payload: 'rubbish', replayable: true },
  ])
})

test('operators and viewers may not listen', async () => {
  const client = await service.login('olaf')
  client.send({ type: 'subscribe', id: 's1', channel: 'audit' })
  const refused = await client.next('error')
  expect(refused).toMatchObject({ id: 's1', problem: { code: 'FORBIDDEN' } })
})

test('the filter is that of the other channels, and a device that does not exist can be followed', async () => {
  const ofGroup = await service.login('ada')
  await subscribe(ofGroup, 'audit', { filter: { group: 'eu' } })
  const ofStranger = await service.login('ada')
  await subscribe(ofStranger, 'audit', { filter: { device_id: 'stranger' } })
  fleet.tell(
    fleet.audit('mqtt.connect', 'stranger'),
    fleet.audit('editDevice', 'north'),
    fleet.audit('editDevice', 'loose'),
    fleet.audit('login'),
  )
  expect((await eventsOf(ofGroup)).map(({ device_id }) => device_id)).toEqual(['north'])
  expect((await eventsOf(ofStranger)).map(({ device_id }) => device_id)).toEqual(['stranger'])
})

test('a snapshot has the newest entries, and what it shows is not told again', async () => {
  for (const name of ['loose', 'north', 'north', 'loose', 'north', 'north']) fleet.audit('editDevice', name)
  const client = await service.login('ada')
  await subscribe(client, 'audit', { filter: { device_id: 'north' }, snapshot: true })
  const shot = await client.next('snapshot')
  expect(shot['truncated']).toBe(true)
  expect(shot['data']).toMatchObject(Array.from({ length: 3 }, () => ({ device_id: 'north' })))
  const [newest] = fleet.audited
  if (newest === undefined) throw new Error('nothing is audited')
  const again = {
    kind: 'audit',
    event: 'audit.recorded',
    deviceId: id('north'),
    at: fleet.time.now(),
  } as const
  fleet.tell({ ...again, row: newest }, fleet.audit('decommissionDevice', 'north'))
  expect((await eventsOf(client)).map(({ data }) => data)).toMatchObject([{ action: 'decommissionDevice' }])
})
