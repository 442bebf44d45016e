// Reports that are not believed, such as false ones or those of other devices, and firmware of another type.
import { expect, test } from 'vitest'
import { idOf } from '../../engine/runtime/shard/testing/items.ts'
import { openDeploying, DEPLOYMENTS_PATH as PATH } from '../testing/deploying.ts'

async function openOne() {
  const world = await openDeploying({ d0: 'dies', d1: 'good' })
  const { body } = await world.deploy({
    target: { type: 'device', value: 'd0' },
    retry: { max: 0 },
    rollback_on_failure: false,
  })
  const id: string = body.deployment_id
  const job = async () => (await world.send(`GET ${PATH}/${id}/devices`)).body.data[0]
  // Time goes on in small steps, so the device gets everything that is due to it meanwhile.
  for (let i = 0; (await job()).status !== 'rebooting'; i++) {
    if (i > 2_000) throw new Error('the device does not get that far')
    world.clock.at += 10
    await new Promise((resolve) => setImmediate(resolve))
  }
  const says = (device: string, report: object) => world.engine.publish(idOf(device), 'ota/status', report)
  return { ...world, id, job, says }
}

test('a report about the job of another device changes nothing', async () => {
  const { id, job, says, send } = await openOne()
  for (const status of ['succeeded', 'failed', 'rejected', 'cancelled', 'already_installed'])
    await says('d1', { deployment_id: id, attempt: 1, status, version: '2.0' })
  expect(await job()).toMatchObject({ device_id: 'd0', status: 'rebooting', error: null })
  expect((await send('GET /api/v1/ota/devices/d1')).body).toMatchObject({ jobs: [] })
})

test('a report about another attempt, an unknown deployment or with an unknown status changes nothing', async () => {
  const { id, job, says } = await openOne()
  for (const wrong of [
    { deployment_id: id, attempt: 2, status: 'failed' },
    { deployment_id: id, attempt: 0, status: 'failed' },
    { deployment_id: 'dep_other', attempt: 1, status: 'failed' },
    { deployment_id: `${id}/../${id}`, attempt: 1, status: 'failed' },
    { deployment_id: id, attempt: 1, status: 'exploded' },
    { deployment_id: id, attempt: 1, status: '__proto__' },
    { deployment_id: id, attempt: 1 },
    { deployment_id: [id], attempt: 1, status: ['failed'] },
  ])
    await says('d0', wrong)
  expect(await job()).toMatchObject({ status: 'rebooting', attempt: 1, error: null })
  // A report with a possible status is accepted.
  await says('d0', { deployment_id: id, attempt: 1, status: 'failed', error: { code: 'FLASH_ERROR' } })
  expect(await job()).toMatchObject({ status: 'failed', error: { code: 'FLASH_ERROR' } })
})

test('a command to a device that restarts with its firmware is held, and says so at once', async () => {
  const { send } = await openOne()
  const held = { status: 'pending', held_reason: 'firmware_update' }
  const sent = await send('POST /api/v1/commands/d0', { command: 'go' })
  expect(sent.body).toMatchObject(held)
  expect((await send(`GET /api/v1/commands/d0/${sent.body.command_id}`)).body).toMatchObject(held)
})

test('a device that says it succeeded, and runs the old version, has failed', async () => {
  const { id, job, says, engine, ends } = await openOne()
  await says('d0', { deployment_id: id, attempt: 1, status: 'succeeded', version: '2.0' })
  expect(await job()).toMatchObject({ status: 'confirming' })
  expect(await ends(id, 30_000)).toMatchObject({ status: 'failed', progress: { failed: 1, succeeded: 0 } })
  expect(await job()).toMatchObject({ status: 'failed', error: { code: 'VERSION_MISMATCH' } })
  expect((await engine.view(idOf('d0')))?.device.firmwareVersion).toBe('1.0')
})

test('a device of another type than the firmware’s is left out, and alone it is no target', async () => {
  const { deploy, send, engine } = await openDeploying({ d0: 'dies' })
  await send('POST /api/v1/devices', { device_id: 'other', name: 'Other', type: 'ros2_robot' })
  expect((await deploy()).body).toMatchObject({ total: 2, skipped: { incompatible: 1 } })
  expect(await deploy({ target: { type: 'device', value: 'other' } })).toMatchObject({
    status: 422,
    body: { code: 'EMPTY_TARGET', total: 1, skipped: { incompatible: 1 } },
  })
  expect((await engine.view(idOf('other')))?.firmware).toBeUndefined()
})
