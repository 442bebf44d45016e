import { describe, expect, test } from 'vitest'
import { many, openDeploying as opened, DEPLOYMENTS_PATH as PATH } from '../testing/deploying.ts'
import { uploadFirmware } from '../testing/updating-fleet.ts'

describe('deploying', () => {
  test('every device gets the firmware, proves it, and says so in its record', async () => {
    const { deploy, ends, fleet, send, firmwareId } = await opened(many(5))
    const made = await deploy()
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({ status: 'pending', total: 5, strategy: 'rolling', max_concurrent: 10 })
    expect(made.headers['location']).toBe(`${PATH}/${made.body.deployment_id}`)
    const end = await ends(made.body.deployment_id)
    expect(end).toMatchObject({ status: 'completed', progress: { succeeded: 5, percent: 100 } })
    expect(fleet.map(({ received: told }) => told.length)).toEqual([1, 1, 1, 1, 1])
    expect(fleet[0]?.received[0]).toMatchObject({ action: 'install', version: '2.0', attempt: 1, seq: 1 })
    const { body } = await send('GET /api/v1/devices/d0')
    expect(body).toMatchObject({
      firmware_version: '2.0',
      firmware: { version: '2.0', firmware_id: firmwareId, previous_version: '1.0', update: null },
    })
    const versions = await send('GET /api/v1/ota/versions')
    expect(versions.body).toEqual({
      data: [{ type: 'mqtt_device', firmware_version: '2.0', devices: 5, online: 5 }],
      total: 5,
    })
  })

  test('versions are ordered by their devices, then by type and version, the unknown one last', async () => {
    const { deploy, ends, send } = await opened(many(2))
    const register = (id: string, type: string) =>
      send('POST /api/v1/devices', { device_id: id, name: id, type })
    for (const id of ['a0', 'a1', 'a2']) await register(id, 'ros2_robot')
    await register('a3', 'mqtt_device')
    await ends((await deploy({ target: { type: 'device', value: 'd0' } })).body.deployment_id)
    const { body } = await send('GET /api/v1/ota/versions')
    expect(body.data.map(Object.values)).toEqual([
      ['ros2_robot', null, 3, 0],
      ['mqtt_device', '1.0', 1, 1],
      ['mqtt_device', '2.0', 1, 1],
      ['mqtt_device', null, 1, 0],
    ])
  })

  test('never more than it may at a time', async () => {
    const { deploy, fleet, until } = await opened(many(6, 'dies'))
    const { body } = await deploy({ max_concurrent: 2, abort: { min_finished: 250_000 } })
    await until(body.deployment_id, ({ progress }) => Reflect.get(Object(progress), 'in_progress') === 2)
    expect(fleet.filter(({ received: told }) => told.length > 0)).toHaveLength(2)
  })

  test('who is skipped is told with the reason, and nobody left is refused', async () => {
    const { deploy, send, ends } = await opened(many(2))
    const first = await deploy({ target: { type: 'device', value: 'd0' } })
    await ends(first.body.deployment_id)
    const second = await deploy()
    expect(second.body).toMatchObject({ total: 2, skipped: { already_installed: 1 } })
    const devices = await send(`GET ${PATH}/${second.body.deployment_id}/devices?status=skipped`)
    expect(devices.body).toMatchObject({ total: 1, data: [{ device_id: 'd0', reason: 'already_installed' }] })
    for (const act of ['retry', 'cancel'])
      expect(await send(`POST ${PATH}/${second.body.deployment_id}/devices/d0/${act}`)).toMatchObject({
        status: 409,
        body: { code: 'INVALID_STATE_TRANSITION', from: 'skipped', allowed: [] },
      })
    const none = await deploy({ target: { type: 'device', value: 'd0' } })
    expect(none).toMatchObject({ status: 422, body: { code: 'EMPTY_TARGET', total: 1 } })
  })

  test('a dry run counts and does nothing', async () => {
    const { send, fleet } = await opened(many(3))
    const body = { firmware_version: '2.0', target: { type: 'all' } }
    const dry = await send(`POST ${PATH}?dry_run=true`, body)
    expect(dry).toMatchObject({ status: 200, body: { total: 3, accepted: 3, by_status: { online: 3 } } })
    expect(dry.body.sample.map((each: { device_id: string }) => each.device_id)).toEqual(['d0', 'd1', 'd2'])
    expect((await send(`GET ${PATH}`)).body.total).toBe(0)
    expect(fleet.every(({ received: told }) => told.length === 0)).toBe(true)
  })

  test('the number of devices that a dry run told is the number that is deployed to, or none is', async () => {
    const { deploy, ends, send, fleet } = await opened(many(2))
    await ends((await deploy({ target: { type: 'device', value: 'd0' } })).body.deployment_id)
    const body = { firmware_version: '2.0', target: { type: 'all' } }
    const dry = await send(`POST ${PATH}?dry_run=true`, body)
    expect(dry.body).toMatchObject({
      total: 2,
      accepted: 1,
      skipped: [{ device_id: 'd0', reason: 'already_installed' }],
      by_reason: { already_installed: 1 },
    })
    const changed = await deploy({ expected_total: 3 })
    expect(changed).toMatchObject({ status: 409, body: { code: 'TARGET_CHANGED', expected: 3, got: 2 } })
    expect(fleet[1]?.received).toEqual([])
    expect((await deploy({ expected_total: 2 })).status).toBe(201)
  })

  test('an unknown firmware, target or time zone is refused', async () => {
    const { deploy, firmwareId } = await opened(many(1))
    expect((await deploy({ firmware_version: '9' })).body.code).toBe('VALIDATION_FAILED')
    expect((await deploy({ firmware_version: null, firmware_id: firmwareId })).status).toBe(201)
    // One of the two is a mistake, and the wrong one may not be installed.
    for (const other of [{ firmware_version: '9' }, { device_type: 'gateway' }])
      expect(await deploy({ firmware_id: firmwareId, ...other })).toMatchObject({
        status: 422,
        body: { errors: [{ path: `/${Object.keys(other)[0]}` }] },
      })
    expect((await deploy({ target: { type: 'group' } })).status).toBe(422)
    expect((await deploy({ target: { type: 'device' } })).status).toBe(422)
    expect((await deploy({ target: { type: 'devices', value: [1] } })).status).toBe(422)
    expect((await deploy({ target: { type: 'device', value: 'nobody' } })).status).toBe(404)
    const windows = [{ start: '22:00', duration_min: 60, tz: 'Moon/Base' }]
    expect((await deploy({ windows })).status).toBe(422)
    expect((await deploy({ stable_sec: 400 })).status).toBe(422)
  })
})

describe('canaries', () => {
  const canary = { strategy: 'canary', canary: { count: 2, soak_sec: 300 } }

  test('the rest waits until they have soaked', async () => {
    const { deploy, until, ends, fleet } = await opened(many(6))
    const { body } = await deploy(canary)
    const id = body.deployment_id
    expect(body.stages).toMatchObject([{ total: 2 }, { total: 4 }])
    const soaking = await until(id, ({ stages }) => Reflect.get(Object(stages), 0).state === 'soaking')
    expect(fleet.filter(({ received: told }) => told.length > 0)).toHaveLength(2)
    expect(soaking).toMatchObject({ status: 'in_progress', progress: { succeeded: 2, pending: 4 } })
    expect(await ends(id, 60_000)).toMatchObject({ status: 'completed', progress: { succeeded: 6 } })
  })

  test('bad ones stop it: nobody else is told anything, and they go back without a hand', async () => {
    const { deploy, ends, fleet } = await opened(many(6, 'fails'))
    const { body } = await deploy({ ...canary, retry: { max: 0 } })
    const end = await ends(body.deployment_id)
    expect(end).toMatchObject({ status: 'rolled_back', status_reason: 'success_percent' })
    expect(end['aborted_at']).not.toBeNull()
    const told = fleet.filter((device) => device.received.length > 0)
    expect(told).toHaveLength(2)
    for (const device of told)
      expect(device.received.map(({ action }) => action)).toEqual(['install', 'rollback'])
    expect(end).toMatchObject({ progress: { rolled_back: 2, cancelled: 4 } })
  })

  test('those that come back by themselves are sent nothing more', async () => {
    const { deploy, ends, fleet, send } = await opened(many(4, 'reverts'))
    const { body } = await deploy({ ...canary, retry: { max: 0 } })
    const end = await ends(body.deployment_id)
    expect(end['status']).toBe('aborted')
    expect(fleet.filter(({ received: told }) => told.length === 1)).toHaveLength(2)
    const jobs = await send(`GET ${PATH}/${body.deployment_id}/devices?status=rolled_back`)
    expect(jobs.body.data[0].error.code).toBe('ROLLED_BACK_BY_DEVICE')
  })

  test('a canary that goes away while it soaks stops it, too', async () => {
    const { deploy, until, ends, fleet } = await opened(many(4))
    const { body } = await deploy({ ...canary, rollback_on_failure: false })
    await until(body.deployment_id, ({ stages }) => Reflect.get(Object(stages), 0).state === 'soaking')
    fleet.find(({ received: told }) => told.length > 0)?.disconnect()
    const end = await ends(body.deployment_id)
    expect(end).toMatchObject({ status: 'aborted', status_reason: 'gate_failed' })
    expect(end['evidence']).toMatchObject({ gate: { max_offline: 0 } })
  })

  test('that are named and would get nothing are refused: the rest would go without canaries', async () => {
    const { deploy } = await opened(many(2))
    const named = (devices: readonly string[]) =>
      deploy({ strategy: 'canary', canary: { devices }, target: { type: 'devices', value: ['d0'] } })
    for (const devices of [['d1'], ['d0', 'nobody']])
      expect((await named(devices)).body).toMatchObject({
        code: 'VALIDATION_FAILED',
        errors: [{ path: '/canary/devices', message: expect.stringContaining(devices.at(-1) ?? '') }],
      })
    expect((await named(['d0'])).status).toBe(201)
    // As the record shows it, where a number of canaries is asked for.
    expect((await deploy({ strategy: 'canary', canary: { percent: null, count: 1 } })).status).toBe(201)
  })

  test('with approval a person lets it go on', async () => {
    const { deploy, until, ends, send } = await opened(many(4))
    const { body } = await deploy({ strategy: 'canary', canary: { count: 1, soak_sec: 0, approval: true } })
    const id = body.deployment_id
    const paused = await until(id, ({ status }) => status === 'paused')
    expect(paused['status_reason']).toBe('approval')
    expect((await send(`POST ${PATH}/${id}/approve`)).body.status).toBe('in_progress')
    expect((await ends(id))['status']).toBe('completed')
  })
})

describe('acting on one', () => {
  test('pausing starts nobody, and resuming goes on', async () => {
    const { deploy, send, ends, fleet, clock } = await opened(many(2))
    fleet[0]?.disconnect()
    fleet[1]?.disconnect()
    const { body } = await deploy()
    const id = body.deployment_id
    expect((await send(`POST ${PATH}/${id}/pause`)).body).toMatchObject({
      status: 'paused',
      status_reason: 'user',
    })
    for (const device of fleet) await device.connect()
    clock.at += 60_000
    expect(fleet.every(({ received: told }) => told.length === 0)).toBe(true)
    expect((await send(`POST ${PATH}/${id}/pause`)).body).toMatchObject({
      code: 'INVALID_STATE_TRANSITION',
      allowed: ['resume', 'cancel', 'approve'],
    })
    expect((await send(`POST ${PATH}/${id}/resume`)).status).toBe(200)
    expect((await ends(id))['status']).toBe('completed')
  })

  test('a deployment that was paused for any reason goes on when it is approved', async () => {
    const { deploy, send, ends, fleet } = await opened(many(1))
    fleet[0]?.disconnect()
    const id = (await deploy()).body.deployment_id
    expect((await send(`POST ${PATH}/${id}/pause`)).body.status_reason).toBe('user')
    const approved = await send(`POST ${PATH}/${id}/approve`)
    expect(approved).toMatchObject({ status: 200, body: { status: 'pending', status_reason: null } })
    await fleet[0]?.connect()
    expect((await ends(id))['status']).toBe('completed')
  })

  test('cancelling ends it for all that have not begun', async () => {
    const { deploy, send, ends, fleet } = await opened(many(3))
    for (const device of fleet) device.disconnect()
    const { body } = await deploy()
    expect((await send(`POST ${PATH}/${body.deployment_id}/cancel`)).body.status).toBe('cancelled')
    const end = await ends(body.deployment_id)
    expect(end).toMatchObject({ progress: { cancelled: 3, percent: 100 } })
    for (const device of fleet) await device.connect()
    expect(fleet.every(({ received: told }) => told.length === 0)).toBe(true)
  })

  test('a device that rejected is tried again by hand', async () => {
    const { deploy, until, send, device, ends } = await opened({ a: 'rejects', b: 'good', c: 'good' })
    device('b').disconnect()
    const { body } = await deploy({ abort: { min_finished: 100 } })
    const id = body.deployment_id
    await until(id, ({ progress }) => Reflect.get(Object(progress), 'failed') === 1)
    device('a').behaviour = 'good'
    expect((await send(`POST ${PATH}/${id}/devices/a/retry`)).body.status).toBe('pending')
    expect((await send(`POST ${PATH}/${id}/devices/b/cancel`)).body.status).toBe('cancelled')
    expect(await ends(id)).toMatchObject({ status: 'completed', progress: { succeeded: 2, cancelled: 1 } })
  })
})

test('a move that is refused says why, and what is possible', async () => {
  const { deploy, until, send, device } = await opened({ a: 'rejects', b: 'good', c: 'good' })
  device('b').disconnect()
  const answers: object[] = []
  device('c').whileInstalling = async () => void answers.push(await send('POST /api/v1/ota/rollback/c'))
  const id = (await deploy({ abort: { min_finished: 100 } })).body.deployment_id
  await until(id, ({ progress }) => Reflect.get(Object(progress), 'succeeded') === 1)
  for (const line of ['devices/b/retry', 'devices/a/cancel', 'devices/c/retry', 'resume', 'cancel', 'resume'])
    answers.push(await send(`POST ${PATH}/${id}/${line}`))
  answers.push(await send(`POST ${PATH}/${id}/devices/a/retry`))
  const said = (detail: string, more: object) => ({
    status: 409,
    body: { code: 'INVALID_STATE_TRANSITION', detail: expect.stringContaining(detail), ...more },
  })
  expect(answers).toMatchObject([
    said('the device is installing now', { from: 'installing', to: 'rolling_back', allowed: [] }),
    said('the update of this device is pending', { from: 'pending', to: 'pending', allowed: ['cancel'] }),
    said('the update of this device is rejected', { from: 'rejected', to: 'cancelled', allowed: ['retry'] }),
    said('the update of this device is succeeded', { from: 'succeeded', to: 'pending', allowed: [] }),
    said('takes pause or cancel now', {
      from: 'in_progress',
      to: 'in_progress',
      allowed: ['pause', 'cancel'],
    }),
    { status: 200, body: { status: 'cancelled' } },
    said('the deployment is cancelled', { from: 'cancelled', to: 'in_progress', allowed: [] }),
    said('the deployment is cancelled', { from: 'cancelled', to: 'pending', allowed: [] }),
  ])
})

describe('going back', () => {
  test('an admin takes a device back', async () => {
    const { deploy, ends, send, device } = await opened(many(1))
    await ends((await deploy()).body.deployment_id)
    const back = await send('POST /api/v1/ota/rollback/d0')
    expect(back).toMatchObject({ status: 202, body: { from_version: '2.0', to_version: '1.0' } })
    const end = await ends(back.body.deployment_id)
    expect(end).toMatchObject({ kind: 'rollback', status: 'completed' })
    expect(device('d0').version).toBe('1.0')
    expect(device('d0').received.at(-1)).toMatchObject({ action: 'rollback', local_ok: true, seq: 2 })
  })

  test('an admin names the version to go back to, and one that is not there is none', async () => {
    const harness = await opened(many(1))
    const { ends, send, device } = harness
    await uploadFirmware(harness, '0.9')
    const none = await send('POST /api/v1/ota/rollback/d0', { version: '0.8' })
    expect(none).toMatchObject({ status: 409, body: { code: 'NO_PREVIOUS_FIRMWARE' } })
    const back = await send('POST /api/v1/ota/rollback/d0', { version: '0.9' })
    expect(back).toMatchObject({ status: 202, body: { from_version: '1.0', to_version: '0.9' } })
    expect(await ends(back.body.deployment_id)).toMatchObject({ kind: 'rollback', status: 'completed' })
    expect(device('d0').version).toBe('0.9')
    expect(device('d0').received).toMatchObject([{ action: 'rollback', version: '0.9' }])
  })

  test('a rollback calls off the update that has not begun to install, and goes first', async () => {
    const harness = await opened(many(1))
    const { deploy, ends, send, device, until } = harness
    await uploadFirmware(harness, '0.9')
    device('d0').disconnect()
    const waiting = (await deploy()).body.deployment_id
    const jobs = async () => (await send(`GET ${PATH}/${waiting}/devices`)).body.data
    await until(waiting, ({ held }) => Reflect.get(Object(held), 'offline') === 1)
    const back = await send('POST /api/v1/ota/rollback/d0', { version: '0.9' })
    expect(back.status).toBe(202)
    expect(await jobs()).toMatchObject([{ status: 'cancelled', error: { code: 'SUPERSEDED' } }])
    await device('d0').connect()
    expect(await ends(back.body.deployment_id)).toMatchObject({ status: 'completed' })
    expect(device('d0').received).toMatchObject([{ action: 'rollback', version: '0.9' }])
    expect(await ends(waiting)).toMatchObject({ progress: { cancelled: 1, succeeded: 0 } })
  })

  test('the version that a device runs already is not one to go back to, unless it is forced', async () => {
    const { send } = await opened(many(1))
    const same = await send('POST /api/v1/ota/rollback/d0', { version: 'v1.0' })
    expect(same).toMatchObject({ status: 409, body: { code: 'NO_PREVIOUS_FIRMWARE' } })
    const forced = await send('POST /api/v1/ota/rollback/d0', { version: '1.0', force: true })
    expect(forced).toMatchObject({ status: 202, body: { from_version: '1.0', to_version: '1.0' } })
  })

  test('without a former version there is no way back', async () => {
    const { send } = await opened(many(1))
    expect((await send('POST /api/v1/ota/rollback/d0')).body.code).toBe('NO_PREVIOUS_FIRMWARE')
  })

  test('a firmware that failed is blocked, until somebody lifts it', async () => {
    const { deploy, ends, send, firmwareId, login, request } = await opened(many(1, 'fails'))
    await ends((await deploy({ rollback_on_failure: false, retry: { max: 0 } })).body.deployment_id)
    const again = await deploy()
    expect(again.body).toMatchObject({ code: 'EMPTY_TARGET', skipped: { blocked: 1 } })
    expect((await send('GET /api/v1/ota/devices/d0')).body.blocks).toMatchObject([
      { firmware_id: firmwareId },
    ])
    const { token } = await login('operator')
    const wish = { firmware_version: '2.0', target: { type: 'all' }, force: true }
    const forced = await request(`POST ${PATH}`, { token, body: wish })
    expect(forced.body).toMatchObject({ code: 'FORBIDDEN', detail: expect.stringContaining('d0') })
    expect((await send(`DELETE /api/v1/ota/devices/d0/blocks/${firmwareId}`)).status).toBe(204)
    expect((await deploy()).status).toBe(201)
  })
})

test('operators deploy within their groups, and see nothing beyond', async () => {
  const { request, login, deploy } = await opened(many(2), { group: 'yard/a' })
  const { token } = await login('operator', { groups: ['yard/a'] })
  const { token: other } = await login('operator', { groups: ['yard/b'] })
  const { token: viewer } = await login('viewer')
  const wish = { firmware_version: '2.0', target: { type: 'group', value: 'yard/a' } }
  expect((await request(`POST ${PATH}`, { token: other, body: wish })).status).toBe(404)
  expect((await request(`POST ${PATH}`, { token: viewer, body: wish })).status).toBe(403)
  const made = await request(`POST ${PATH}`, { token, body: wish })
  expect(made.status).toBe(201)
  const one = `GET ${PATH}/${made.body.deployment_id}`
  expect((await request(one, { token })).status).toBe(200)
  expect((await request(one, { token: other })).status).toBe(404)
  expect((await request(`GET ${PATH}`, { token: other })).body.total).toBe(0)
  expect((await request('POST /api/v1/ota/rollback/d0', { token })).status).toBe(403)
  expect((await request('GET /api/v1/ota/versions', { token: viewer })).body.total).toBe(2)
  // Devices may run it by now.
  expect((await deploy({ force: true })).status).toBe(201)
})

test('a repetition with the same key is the same deployment, whose target is as it was asked for', async () => {
  const { request, token } = await opened(many(1))
  const body = { firmware_version: '2.0', target: { type: 'all' } }
  const headers = { 'idempotency-key': 'k1' }
  const first = await request(`POST ${PATH}`, { token, body, headers })
  expect(first.body.target).toEqual({ type: 'all' })
  const second = await request(`POST ${PATH}`, { token, body, headers })
  expect(second.body.deployment_id).toBe(first.body.deployment_id)
})

test('a key that was used days ago makes another deployment', async () => {
  const { request, login, tokens, clock } = await opened(many(1))
  const { user } = await login('admin')
  const create = async (line: string, body: object) => {
    const { token } = await tokens.issueAccess({ userId: user.id, at: clock.now() })
    return request(line, { token, body, headers: { 'idempotency-key': 'weekly' } })
  }
  // The device may run it by then.
  const body = { firmware_version: '2.0', target: { type: 'all' }, force: true }
  const first = await create(`POST ${PATH}`, body)
  clock.at += 86_400_000 * 2
  const second = await create(`POST ${PATH}`, body)
  expect([second.status, second.body.created_at]).toEqual([201, new Date(clock.at).toISOString()])
  expect(second.body.deployment_id).not.toBe(first.body.deployment_id)
})
