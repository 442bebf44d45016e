import { expect, test } from 'vitest'
import { openDeploying } from '../testing/deploying.ts'
import { openHarness } from '../testing/rest.ts'

const DEVICES = '/api/v1/devices'

async function asAdmin() {
  const harness = openHarness()
  const { token } = await harness.login('admin')
  const send = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    harness.request(line, { token, body, headers })
  return { ...harness, send }
}

const register = { device_id: 'robot-7', name: 'Picker', type: 'mqtt_device', group: 'a', tags: ['x'] }

test('a purge removes the device with all that belongs to it, and its id is registered as a new device', async () => {
  const { send, engine, clock } = await asAdmin()
  await send(`POST ${DEVICES}`, register)
  await send('PUT /api/v1/shadows/robot-7/desired', { data: { speed: 3 } })
  await send('POST /api/v1/commands', { device_id: 'robot-7', command: 'dock' })
  const purged = await send(`DELETE ${DEVICES}/robot-7?purge=true`)
  expect([purged.status, purged.body.status, purged.body.status_reason]).toEqual([
    200,
    'decommissioned',
    'purged',
  ])
  for (const path of [`${DEVICES}/robot-7`, '/api/v1/shadows/robot-7', '/api/v1/telemetry/robot-7'])
    expect((await send(`GET ${path}`)).status).toBe(404)
  expect((await send(`GET ${DEVICES}`)).body.total).toBe(0)
  expect((await send('GET /api/v1/commands/robot-7')).status).toBe(404)
  expect((await send('GET /api/v1/fleet/index')).body).toMatchObject({ total: 0 })
  expect(engine.devices.countByStatus().decommissioned).toBe(0)

  const again = await send(`POST ${DEVICES}`, { ...register, name: 'Other', group: 'b', tags: [] })
  expect([again.status, again.body.status, again.body.group]).toEqual([201, 'provisioning', 'b'])
  clock.at += 2_000
  expect((await send('GET /api/v1/shadows/robot-7')).body).toMatchObject({ version: 0, desired: {} })
  expect((await send('GET /api/v1/fleet/index')).body).toMatchObject({
    total: 1,
    columns: { device_id: ['robot-7'], name: ['Other'] },
  })
  expect((await send(`GET ${DEVICES}?group=a`)).body.total).toBe(0)
  expect((await send(`GET ${DEVICES}?group=b`)).body.data).toEqual([
    expect.objectContaining({ device_id: 'robot-7', name: 'Other' }),
  ])
})

test('a purge of a device that was decommissioned before removes it, and a second purge is 404', async () => {
  const { send } = await asAdmin()
  await send(`POST ${DEVICES}`, register)
  await send(`DELETE ${DEVICES}/robot-7`)
  expect((await send(`DELETE ${DEVICES}/robot-7?purge=maybe`)).status).toBe(422)
  expect((await send(`DELETE ${DEVICES}/robot-7?purge=true`)).status).toBe(200)
  expect((await send(`DELETE ${DEVICES}/robot-7?purge=true`)).status).toBe(404)
})

test('a purge with an outdated If-Match removes nothing', async () => {
  const { send } = await asAdmin()
  await send(`POST ${DEVICES}`, register)
  const refused = await send(`DELETE ${DEVICES}/robot-7?purge=true`, undefined, { 'if-match': '"99-x"' })
  expect(refused.status).toBe(412)
  expect((await send(`GET ${DEVICES}/robot-7`)).body.status).toBe('provisioning')
})

test('the index of the fleet tells that a purged device is gone', async () => {
  const { send, clock } = await asAdmin()
  await send(`POST ${DEVICES}`, register)
  const { body: index } = await send('GET /api/v1/fleet/index')
  await send(`DELETE ${DEVICES}/robot-7?purge=true`)
  clock.at += 2_000
  const { body: changes } = await send(`GET /api/v1/fleet/index?since=${index.cursor}`)
  expect(changes).toMatchObject({ total: 0, removed: ['robot-7'] })
})

test('a gateway is purged after its sub-devices, so that no later gateway of its id inherits them', async () => {
  const { send } = await asAdmin()
  await send(`POST ${DEVICES}`, { device_id: 'gw', name: 'Gateway', type: 'gateway' })
  await send(`POST ${DEVICES}`, { ...register, parent_id: 'gw' })
  const refused = await send(`DELETE ${DEVICES}/gw?purge=true`)
  expect([refused.status, refused.body.code, refused.body.sub_devices]).toEqual([409, 'HAS_SUB_DEVICES', 1])
  expect((await send(`GET ${DEVICES}/gw`)).body.status).toBe('provisioning')
  // A decommissioned sub-device still belongs to the gateway.
  await send(`DELETE ${DEVICES}/robot-7`)
  expect((await send(`DELETE ${DEVICES}/gw?purge=true`)).status).toBe(409)
  expect((await send(`DELETE ${DEVICES}/robot-7?purge=true`)).status).toBe(200)
  expect((await send(`DELETE ${DEVICES}/gw?purge=true`)).status).toBe(200)
  expect((await send(`GET ${DEVICES}`)).body.total).toBe(0)
  expect((await send(`POST ${DEVICES}`, { device_id: 'gw', name: 'New', type: 'gateway' })).status).toBe(201)
  expect((await send(`GET ${DEVICES}?parent_id=gw`)).body.total).toBe(0)
})

test('a rollout ends without a device purged meanwhile, and a new device with its id is not part of it', async () => {
  const { deploy, device, ends, send, until } = await openDeploying({ d0: 'dies', d1: 'good', d2: 'good' })
  // It is purged while it installs, and never reconnects.
  device('d0').whileInstalling = async () => {
    expect((await send(`DELETE ${DEVICES}/d0?purge=true`)).status).toBe(200)
    expect((await send(`POST ${DEVICES}`, { ...register, device_id: 'd0' })).status).toBe(201)
  }
  const { body } = await deploy({ max_concurrent: 1 })
  await until(body.deployment_id, ({ status }) => status === 'in_progress')
  const ended = await ends(body.deployment_id)
  expect(ended).toMatchObject({ status: 'completed', progress: { succeeded: 2, failed: 0 } })
  expect((await send(`GET ${DEVICES}/d0`)).body).toMatchObject({
    status: 'provisioning',
    firmware_version: null,
  })
})
