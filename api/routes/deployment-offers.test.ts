// Which firmware is offered to which devices, and what withdraws an offer.
import { expect, test } from 'vitest'
import { many, openDeploying as opened, DEPLOYMENTS_PATH as PATH } from '../testing/deploying.ts'
import { uploadFirmware } from '../testing/updating-fleet.ts'

test('a version that exists for two types needs the type', async () => {
  const harness = await opened(many(1))
  await uploadFirmware(harness, '2.0', { deviceType: 'ros2_robot' })
  const { status, body } = await harness.deploy()
  expect([status, body.code]).toEqual([422, 'AMBIGUOUS_FIRMWARE'])
  expect(body.device_types.toSorted()).toEqual(['mqtt_device', 'ros2_robot'])
  expect((await harness.deploy({ device_type: 'mqtt_device' })).status).toBe(201)
})

test('a deprecated firmware is deployed only by force, a yanked one never', async () => {
  const { deploy, send, firmwareId } = await opened(many(1))
  const become = (status: string) => send(`PATCH /api/v1/ota/firmware/${firmwareId}?force=true`, { status })
  await become('deprecated')
  expect(await deploy()).toMatchObject({ status: 409, body: { code: 'FIRMWARE_DEPRECATED' } })
  expect((await deploy({ force: true })).status).toBe(201)
  await become('yanked')
  expect(await deploy({ force: true })).toMatchObject({ status: 409, body: { code: 'FIRMWARE_YANKED' } })
})

test('devices running a version that the firmware cannot be installed over are left out', async () => {
  const harness = await opened(many(2))
  await uploadFirmware(harness, '3.0', { minFromVersion: '1.5' })
  await uploadFirmware(harness, '3.1', { fromVersions: ['0.9'] })
  await uploadFirmware(harness, '3.2', { minFromVersion: '1.0', fromVersions: ['0.9', '1.0'] })
  for (const version of ['3.0', '3.1']) {
    const { body } = await harness.deploy({ firmware_version: version })
    expect(body).toMatchObject({ code: 'EMPTY_TARGET', total: 2, skipped: { from_version: 2 } })
  }
  expect((await harness.deploy({ firmware_version: '3.2' })).status).toBe(201)
})

test('a newer deployment replaces jobs that have not started, on request', async () => {
  const { deploy, send, fleet } = await opened(many(1))
  fleet[0]?.disconnect()
  const ids: string[] = []
  for (const more of [{}, {}, { supersede: true }]) ids.push((await deploy(more)).body.deployment_id)
  const jobs = await Promise.all(ids.map((id) => send(`GET ${PATH}/${id}/devices`)))
  const superseded = { status: 'cancelled', error: { code: 'SUPERSEDED' } }
  expect(jobs.map(({ body }) => body.data[0])).toMatchObject([superseded, superseded, { status: 'pending' }])
})

test('devices that succeeded are rolled back too if the whole deployment is', async () => {
  const { deploy, ends, device } = await opened({ a: 'good', b: 'fails' })
  const { body } = await deploy({
    abort: { min_finished: 2, failure_percent: 50 },
    retry: { max: 0 },
    rollback_scope: 'deployment',
  })
  expect(await ends(body.deployment_id)).toMatchObject({
    status: 'rolled_back',
    status_reason: 'failure_percent',
  })
  expect([device('a').version, device('b').version]).toEqual(['1.0', '1.0'])
  expect(device('a').received.at(-1)).toMatchObject({ action: 'rollback', version: '1.0' })
})

test('a deployment whose image is missing waits for a person once a device fails to download it', async () => {
  const { deploy, until, engine, firmwareId, device, app } = await opened(many(2))
  device('d1').disconnect()
  const record = engine.firmware.get(firmwareId) ?? expect.fail('no record')
  await engine.blobs.delete(record.imageKey)
  const answers: number[] = []
  device('d0').whileInstalling = async () => {
    const { pathname, search } = new URL(String(device('d0').received[0]?.['url']))
    answers.push((await app.inject(`${pathname}${search}`)).statusCode)
  }
  const { body } = await deploy()
  const paused = await until(body.deployment_id, ({ status }) => status === 'paused')
  expect(paused['status_reason']).toBe('firmware_unavailable')
  expect(answers).toEqual([503])
})

test('a device that is no longer subscribed is not sent an update until it subscribes again', async () => {
  const { deploy, until, ends, device } = await opened(many(1))
  device('d0').unsubscribe()
  const id = (await deploy()).body.deployment_id
  await until(id, ({ held }) => Reflect.get(Object(held), 'not_subscribed') === 1)
  expect(device('d0').received).toEqual([])
  device('d0').subscribe()
  expect(await ends(id)).toMatchObject({ status: 'completed', progress: { succeeded: 1 } })
})
