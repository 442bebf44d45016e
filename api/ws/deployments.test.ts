import { afterEach, beforeEach, expect, test } from 'vitest'
import { spec } from '../../engine/domain/ota/testing/deployment.ts'
import { DeploymentId, type FirmwareId } from '../../schemas/ids.ts'
import { uploadFirmware } from '../testing/updating-fleet.ts'
import type { RawClient } from './testing/raw-client.ts'
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
let firmwareId: FirmwareId

beforeEach(async () => {
  service = await openSocketService()
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('olaf', { role: 'operator', groups: ['eu'] })
  fleet.addUser('vera', { role: 'viewer' })
  for (const [name, group] of [
    ['eu', 'eu'],
    ['berlin', 'eu/berlin'],
    ['us', 'us'],
    ['loose', undefined],
  ] as const)
    await fleet.addDevice(name, { group })
  firmwareId = await uploadFirmware(fleet, '2.0')
})
afterEach(() => service.close())

/** Creates a deployment for devices that are offline, so it starts and then makes no progress. */
async function deploy(name: string, ...devices: readonly string[]): Promise<void> {
  const outcome = await fleet.engine.deployments.create({
    ...{ id: DeploymentId(name), kind: 'install', spec: spec(), firmwareId, by: 'usr_ada' },
    members: { kind: 'named', deviceIds: devices.map(id) },
    mayPassBlocks: true,
  })
  if (outcome.kind !== 'done') throw new Error(JSON.stringify(outcome))
}

const act = (name: string, action: 'pause' | 'resume' | 'cancel') =>
  fleet.engine.deployments.act(DeploymentId(name), action)

/** The events about deployments as a whole that the client received. */
async function toldTo(client: RawClient): Promise<readonly string[]> {
  const events = (await eventsOf(client)).filter(({ event }) => event !== 'deployment.device')
  return events.map(({ event, data }) => `${event} ${Reflect.get(Object(data), 'deployment_id')}`)
}

test('a deployment is told to those who may see all of it', async () => {
  const [admin, operator] = [await service.login('ada'), await service.login('olaf')]
  for (const client of [admin, operator]) await subscribe(client, 'ota')
  await deploy('dep_eu', 'eu', 'berlin')
  await deploy('dep_both', 'berlin', 'us')
  await deploy('dep_none', 'loose')
  expect(await toldTo(admin)).toEqual([
    'deployment.created dep_eu',
    'deployment.created dep_both',
    'deployment.created dep_none',
  ])
  expect(await toldTo(operator)).toEqual(['deployment.created dep_eu'])
  expect(admin.frames.find(({ type }) => type === 'event')).toMatchObject({
    channel: 'ota',
    seq: 1,
    data: { status: 'pending', progress: { total: 2 }, stages: [{ index: 0, state: 'running' }] },
  })
})

test('a filter names one deployment, or those within a group or of a type', async () => {
  const client = await service.login('ada')
  await subscribe(client, 'ota', { filter: { deployment_id: 'dep_a' } })
  client.send({ type: 'subscribe', id: 's2', channel: 'ota', filter: { group: 'eu', type: 'mqtt_device' } })
  await client.next('subscribed', ({ id }) => id === 's2')
  await deploy('dep_a', 'us')
  await deploy('dep_b', 'berlin')
  await deploy('dep_c', 'eu', 'us')
  expect(await toldTo(client)).toEqual(['deployment.created dep_a', 'deployment.created dep_b'])
})

test('the snapshot has the open deployments, and a change that it shows is not told again', async () => {
  await deploy('dep_b', 'berlin')
  await act('dep_b', 'cancel')
  await deploy('dep_c', 'us')
  around(fleet.engine.deployments, 'list', {
    before: () => deploy('dep_a', 'eu'),
    after: async () => {
      await act('dep_a', 'pause')
    },
  })
  const client = await service.login('olaf')
  await subscribe(client, 'ota', { snapshot: true })
  const { data } = await client.next('snapshot')
  expect(data).toMatchObject([{ deployment_id: 'dep_a', status: 'pending' }])
  expect(await toldTo(client)).toEqual(['deployment.status dep_a'])
})

test('a viewer may not listen, and other channels know no such filter', async () => {
  const viewer = await service.login('vera')
  viewer.send({ type: 'subscribe', id: 's1', channel: 'ota' })
  expect(await viewer.next('error')).toMatchObject({ problem: { code: 'FORBIDDEN' } })
  const admin = await service.login('ada')
  admin.send({ type: 'subscribe', id: 's1', channel: 'events', filter: { deployment_id: 'dep_a' } })
  expect(await admin.next('error')).toMatchObject({ problem: { code: 'VALIDATION_FAILED' } })
})
