// Alerts on /ws, above all those about the fleet, and the states of the channels that tell of alerts.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AlertEvent, FLEET } from '../../engine/ports/feed.ts'
import { ChannelId } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { type FakeFleet, type FakeService, id as idOf, openFakeService } from './testing/fake-fleet.ts'
import type { RawClient } from './testing/raw-client.ts'
import { eventsOf, subscribe } from './testing/subscribing.ts'

let service: FakeService
let fleet: FakeFleet

beforeEach(async () => {
  service = await openFakeService()
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('vera', { role: 'viewer', groups: ['eu'] })
  fleet.addDevice('north', { group: 'eu/north' })
})
afterEach(() => service.close())

const alert = (id: string, more: JsonObject = {}): JsonObject => ({
  ...{ alert_id: id, device_id: null, group: null, scope: 'fleet', state: 'firing', severity: 'warning' },
  ...{ fired_at: '2026-03-01T12:00:00.000Z', revision: 1 },
  ...more,
})

function tell(event: AlertEvent | 'alert.pending', told: JsonObject): void {
  const { device_id: id } = told
  const deviceId = typeof id === 'string' ? idOf(id) : FLEET
  fleet.tell({ kind: 'alert', event, deviceId, at: fleet.time.now(), alert: told })
}

async function listen(token: string, more: object = {}): Promise<RawClient> {
  const client = await service.login(token)
  await subscribe(client, 'alerts', more)
  return client
}

const namesOf = async (client: RawClient) =>
  (await eventsOf(client)).map(({ event, data }) => `${event} ${Reflect.get(Object(data), 'alert_id')}`)

test('an alert about the fleet has no device, and is told to those who see its group', async () => {
  const [admin, viewer] = [await listen('ada'), await listen('vera')]
  tell('alert.fired', alert('all'))
  tell('alert.fired', alert('eu', { group: 'eu/north' }))
  tell('alert.resolved', alert('us', { group: 'us', state: 'resolved' }))
  tell('alert.fired', alert('north', { device_id: 'north', group: 'eu/north', scope: 'device' }))
  expect(await namesOf(admin)).toEqual([
    'alert.fired all',
    'alert.fired eu',
    'alert.resolved us',
    'alert.fired north',
  ])
  expect(await namesOf(viewer)).toEqual(['alert.fired eu', 'alert.fired north'])
  const [first] = await eventsOf(admin)
  expect(first).toMatchObject({ channel: 'alerts', device_id: null, data: { scope: 'fleet', group: null } })
  expect(Reflect.get(Object(first?.['data']), 'link')).toMatch(/\/alerts\/all$/)
})

test('a filter of a group takes the alerts of the fleet in it, one of a device takes none of them', async () => {
  const ofGroup = await listen('ada', { filter: { group: 'eu' } })
  const ofDevice = await listen('ada', { filter: { device_id: 'north' } })
  tell('alert.fired', alert('all'))
  tell('alert.fired', alert('eu', { group: 'eu/north' }))
  tell('alert.fired', alert('north', { device_id: 'north', group: 'eu/north', scope: 'device' }))
  expect(await namesOf(ofGroup)).toEqual(['alert.fired eu', 'alert.fired north'])
  expect(await namesOf(ofDevice)).toEqual(['alert.fired north'])
})

test('the snapshot has the open alerts that the user sees, and a move that it shows is not told again', async () => {
  fleet.alerts.push(
    alert('all'),
    alert('eu', { group: 'eu', revision: 2 }),
    alert('old', { state: 'resolved' }),
  )
  const viewer = await listen('vera', { snapshot: true })
  const { data } = await viewer.next('snapshot')
  expect(data).toMatchObject([{ alert_id: 'eu', revision: 2 }])
  tell('alert.updated', alert('eu', { group: 'eu', revision: 2 }))
  tell('alert.resolved', alert('eu', { group: 'eu', revision: 3, state: 'resolved' }))
  expect(await namesOf(viewer)).toEqual(['alert.resolved eu'])
})

test('what is pending is told to those who ask for it', async () => {
  const asked = await listen('ada', { filter: { pending: true }, snapshot: true })
  const others = [await listen('ada'), await listen('ada', { filter: { pending: false } })]
  tell('alert.pending', alert('north', { alert_id: null, device_id: 'north', state: 'pending', revision: 0 }))
  tell('alert.fired', alert('north', { device_id: 'north' }))
  expect(await namesOf(asked)).toEqual(['alert.pending null', 'alert.fired north'])
  for (const client of others) expect(await namesOf(client)).toEqual(['alert.fired north'])
})

test('asking for what is pending is for the channel of alerts', async () => {
  const client = await service.login('ada')
  client.send({ type: 'subscribe', id: 's1', channel: 'devices', filter: { pending: true } })
  expect(await client.next('error')).toMatchObject({ problem: { code: 'VALIDATION_FAILED' } })
})

test('a channel that begins to fail is told without its address, to those who see its group', async () => {
  const [admin, viewer] = [await listen('ada'), await listen('vera')]
  const say = (name: string, group: string | undefined) =>
    fleet.tell({
      kind: 'alert_channel',
      event: 'channel.state',
      deviceId: FLEET,
      at: fleet.time.now(),
      channel: {
        id: ChannelId(name),
        name,
        group,
        severity: ['critical'],
        type: 'webhook',
        state: 'failing',
      },
    })
  say('ch_all', undefined)
  say('ch_eu', 'eu')
  const [first] = await eventsOf(admin)
  expect(first).toMatchObject({ channel: 'alerts', event: 'channel.state', device_id: null })
  expect(first?.['data']).toEqual({
    ...{ channel_id: 'ch_all', name: 'ch_all', type: 'webhook', severity: ['critical'], state: 'failing' },
  })
  expect((await eventsOf(viewer)).map(({ data }) => Reflect.get(Object(data), 'channel_id'))).toEqual([
    'ch_eu',
  ])
})
