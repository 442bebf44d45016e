// Alerts on /ws, mainly those about the fleet, and the states of alert channels.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { AlertChange } from '../../engine/ports/alerts.ts'
import { ChannelId } from '../../schemas/ids.ts'
import { webhookChannel } from '../testing/webhook-channel.ts'
import type { RawClient } from './testing/raw-client.ts'
import { around, openSocketService, type SocketFleet, type SocketService } from './testing/socket-service.ts'
import { eventsOf, subscribe } from './testing/subscribing.ts'

let service: SocketService
let fleet: SocketFleet

beforeEach(async () => {
  service = await openSocketService()
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('vera', { role: 'viewer', groups: ['eu'] })
  await fleet.addDevice('north', { group: 'eu/north' })
  await fleet.addDevice('south', { group: 'us' })
  await fleet.connect('north', 'south')
})
afterEach(() => service.close())

type RuleWish = Extract<AlertChange, { kind: 'create_rule' }>['wish']

async function addRule(name: string, wish: Pick<RuleWish, 'target' | 'condition'> & Partial<RuleWish>) {
  const id = `rule_${name}`
  const made = await fleet.engine.alerts.change({
    kind: 'create_rule',
    id,
    wish: { name, ...wish },
    by: 'usr_a',
  })
  if (made.kind !== 'changed') throw new Error(JSON.stringify(made))
}

/** Fires within a second as long as a device of the target is online. */
const addFleetRule = (name: string, group?: string) =>
  addRule(name, {
    target: group === undefined ? { type: 'all' } : { type: 'group', value: group },
    condition: { kind: 'fleet', of: { kind: 'state', in: ['online'] }, op: '>=', value: 1 },
  })
/** Fires for a device that reports a temperature above 10. */
const addDeviceRule = (name: string, more: Partial<RuleWish> = {}) =>
  addRule(name, {
    target: { type: 'all' },
    condition: { kind: 'threshold', metric: 't', op: '>', value: 10 },
    ...more,
  })

async function listen(token: string, more: object = {}): Promise<RawClient> {
  const client = await service.login(token)
  await subscribe(client, 'alerts', more)
  return client
}

const namesOf = async (client: RawClient) =>
  (await eventsOf(client)).map(({ event, data }) => `${event} ${Reflect.get(Object(data), 'rule_name')}`)

test('an alert about the fleet has no device, and is sent to users who may see its group', async () => {
  const [admin, viewer] = [await listen('ada'), await listen('vera')]
  for (const [name, group] of [['all'], ['eu', 'eu/north'], ['us', 'us']] as const) {
    await addFleetRule(name, group)
    await fleet.settle()
  }
  await addDeviceRule('hot')
  await fleet.report('north', { t: 11 })
  await fleet.publish('south', 'status', { status: 'offline' })
  await fleet.settle()
  expect(await namesOf(admin)).toEqual([
    ...['all', 'eu', 'us', 'hot'].map((name) => `alert.fired ${name}`),
    'alert.resolved us',
  ])
  expect(await namesOf(viewer)).toEqual(['alert.fired eu', 'alert.fired hot'])
  const [first] = await eventsOf(admin)
  expect(first).toMatchObject({ channel: 'alerts', device_id: null, data: { scope: 'fleet', group: null } })
  expect(Reflect.get(Object(first?.['data']), 'link')).toMatch(/\/alerts\/alt_/)
})

test('a group filter includes fleet alerts of the group, a device filter includes none', async () => {
  const ofGroup = await listen('ada', { filter: { group: 'eu' } })
  const ofDevice = await listen('ada', { filter: { device_id: 'north' } })
  await addFleetRule('all')
  await addFleetRule('eu', 'eu/north')
  await fleet.settle()
  await addDeviceRule('hot')
  await fleet.report('north', { t: 11 })
  expect(await namesOf(ofGroup)).toEqual(['alert.fired eu', 'alert.fired hot'])
  expect(await namesOf(ofDevice)).toEqual(['alert.fired hot'])
})

test('the snapshot has the open alerts that the user may see, and a change that it shows is not sent again', async () => {
  await addDeviceRule('hot')
  await fleet.report('south', { t: 11 })
  around(fleet.engine.alerts, 'list', {
    before: async () => {
      fleet.engine.feed.hold()
      await fleet.report('north', { t: 11 })
    },
    after: () => fleet.report('north', { t: 1 }),
  })
  const viewer = await listen('vera', { snapshot: true })
  const { data } = await viewer.next('snapshot')
  expect(data).toMatchObject([{ rule_name: 'hot', device_id: 'north', state: 'firing' }])
  fleet.engine.feed.release()
  expect(await namesOf(viewer)).toEqual(['alert.resolved hot'])
})

test('pending alerts are sent to those who ask for them', async () => {
  const asked = await listen('ada', { filter: { pending: true }, snapshot: true })
  const others = [await listen('ada'), await listen('ada', { filter: { pending: false } })]
  await addDeviceRule('hot', { for_sec: 60 })
  await fleet.report('north', { t: 11 })
  fleet.time.at += 61_000
  await fleet.settle()
  expect(await namesOf(asked)).toEqual(['alert.pending hot', 'alert.fired hot'])
  for (const client of others) expect(await namesOf(client)).toEqual(['alert.fired hot'])
})

test('pending alerts can be requested only on the channel of alerts', async () => {
  const client = await service.login('ada')
  client.send({ type: 'subscribe', id: 's1', channel: 'devices', filter: { pending: true } })
  expect(await client.next('error')).toMatchObject({ problem: { code: 'VALIDATION_FAILED' } })
})

test('a failing channel is reported without its address, to users who may see its group', async () => {
  const { engine } = fleet
  engine.outbound.status = 404
  for (const [name, group] of [
    ['ch_all', undefined],
    ['ch_eu', 'eu'],
  ] as const) {
    const settings = { ...webhookChannel, name, group, isDefault: true, groupWaitSec: 0 }
    await engine.channels({ op: 'create', id: ChannelId(name), settings, by: 'usr_a' })
  }
  const [admin, viewer] = [await listen('ada'), await listen('vera')]
  for (const name of ['one', 'two', 'three']) {
    await addDeviceRule(name)
    await fleet.report('north', { t: 11 })
    await fleet.settle()
  }
  const statesOf = async (client: RawClient) =>
    (await eventsOf(client)).filter(({ event }) => event === 'channel.state')
  const told = await statesOf(admin)
  expect(told).toMatchObject([{ device_id: null }, { device_id: null }])
  expect(told.map(({ data }) => data)).toContainEqual({
    ...{ channel_id: 'ch_all', name: 'ch_all', type: 'webhook', state: 'failing' },
    severity: ['info', 'warning', 'critical'],
  })
  expect((await statesOf(viewer)).map(({ data }) => Reflect.get(Object(data), 'channel_id'))).toEqual([
    'ch_eu',
  ])
})

test('a snapshot finds the alerts of a tag among many newer ones, and its total counts all of them', async () => {
  const small = await openSocketService({ snapshotDevicesMax: 2 })
  const { fleet: many } = small
  many.addUser('ada')
  const names = ['a', 'b', 'c', 'd']
  for (const name of names) await many.addDevice(name, { tags: name === 'a' ? ['lift'] : [] })
  await many.connect(...names)
  const target = { type: 'all' } as const
  const wish = {
    name: 'hot',
    target,
    condition: { kind: 'threshold', metric: 't', op: '>', value: 10 },
  } as const
  await many.engine.alerts.change({ kind: 'create_rule', id: 'rul_1', wish, by: 'usr_a' })
  for (const name of names) {
    await many.report(name, { t: 11 })
    many.time.at += 1_000
  }
  const snapshotOf = async (filter: object) => {
    const client = await small.login('ada')
    await subscribe(client, 'alerts', { filter, snapshot: true })
    return await client.next('snapshot')
  }
  expect(await snapshotOf({ tag: 'lift' })).toMatchObject({
    ...{ data: [{ device_id: 'a' }], total: 1, truncated: false },
  })
  expect(await snapshotOf({})).toMatchObject({
    ...{ data: [{ device_id: 'd' }, { device_id: 'c' }], total: 4, truncated: true },
  })
  await small.close()
})
