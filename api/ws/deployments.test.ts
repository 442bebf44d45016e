import { afterEach, beforeEach, expect, test } from 'vitest'
import { deployment } from '../../engine/domain/ota/testing/deployment.ts'
import { DeploymentId } from '../../schemas/ids.ts'
import { type FakeFleet, type FakeService, openFakeService } from './testing/fake-fleet.ts'
import type { RawClient } from './testing/raw-client.ts'
import { eventsOf, subscribe } from './testing/subscribing.ts'

let service: FakeService
let fleet: FakeFleet

beforeEach(async () => {
  service = await openFakeService()
  fleet = service.fleet
  fleet.addUser('ada')
  fleet.addUser('olaf', { role: 'operator', groups: ['eu'] })
  fleet.addUser('vera', { role: 'viewer' })
})
afterEach(() => service.close())

const of = (name: string, groups: readonly (string | undefined)[], more: object = {}) =>
  deployment({ id: DeploymentId(name), groups, ...more })

async function toldTo(client: RawClient): Promise<readonly string[]> {
  const events = await eventsOf(client)
  return events.map(({ event, data }) => `${event} ${Reflect.get(Object(data), 'deployment_id')}`)
}

test('a deployment is told to those who may see all of it', async () => {
  const [admin, operator] = [await service.login('ada'), await service.login('olaf')]
  for (const client of [admin, operator]) await subscribe(client, 'ota')
  fleet.tellDeployment('deployment.created', of('dep_eu', ['eu', 'eu/berlin']))
  fleet.tellDeployment('deployment.status', of('dep_both', ['eu', 'us']))
  fleet.tellDeployment('deployment.progress', of('dep_none', [undefined]))
  expect(await toldTo(admin)).toEqual([
    'deployment.created dep_eu',
    'deployment.status dep_both',
    'deployment.progress dep_none',
  ])
  expect(await toldTo(operator)).toEqual(['deployment.created dep_eu'])
  expect(admin.frames.find(({ type }) => type === 'event')).toMatchObject({
    channel: 'ota',
    seq: 1,
    data: { status: 'in_progress', progress: { total: 10 }, stages: [{ index: 0, state: 'running' }] },
  })
})

test('a filter names one deployment, or those within a group or of a type', async () => {
  const client = await service.login('ada')
  await subscribe(client, 'ota', { filter: { deployment_id: 'dep_a' } })
  client.send({ type: 'subscribe', id: 's2', channel: 'ota', filter: { group: 'eu', type: 'mqtt_device' } })
  await client.next('subscribed', ({ id }) => id === 's2')
  for (const [name, groups] of [
    ['dep_a', ['us']],
    ['dep_b', ['eu/x']],
    ['dep_c', ['eu', 'us']],
  ] as const)
    fleet.tellDeployment('deployment.status', of(name, groups))
  expect(await toldTo(client)).toEqual(['deployment.status dep_a', 'deployment.status dep_b'])
})

test('the snapshot has the open deployments, and a change that it shows is not told again', async () => {
  const [open, over] = [of('dep_a', ['eu'], { revision: 3 }), of('dep_b', ['eu'], { status: 'completed' })]
  fleet.deployments.push(open, over, of('dep_c', ['us']))
  const client = await service.login('olaf')
  await subscribe(client, 'ota', { snapshot: true })
  const { data } = await client.next('snapshot')
  expect(data).toMatchObject([{ deployment_id: 'dep_a', status: 'in_progress' }])
  fleet.tellDeployment('deployment.progress', open)
  fleet.tellDeployment('deployment.progress', { ...open, counts: { succeeded: 1 } })
  expect(await toldTo(client)).toEqual(['deployment.progress dep_a'])
})

test('a viewer may not listen, and other channels know no such filter', async () => {
  const viewer = await service.login('vera')
  viewer.send({ type: 'subscribe', id: 's1', channel: 'ota' })
  expect(await viewer.next('error')).toMatchObject({ problem: { code: 'FORBIDDEN' } })
  const admin = await service.login('ada')
  admin.send({ type: 'subscribe', id: 's1', channel: 'events', filter: { deployment_id: 'dep_a' } })
  expect(await admin.next('error')).toMatchObject({ problem: { code: 'VALIDATION_FAILED' } })
})
