import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { openHarness } from '../testing/rest.ts'
import { DEPLOYMENTS, openDdi } from './testing/ddi-device.ts'

const hashOf = (name: string, text: string) => createHash(name).update(text).digest('hex')

test('a device gets a job when it polls, and has succeeded some time after reporting so', async () => {
  const { ask, poll, deploy, job, until, linked, feedback, send, app } = await openDdi()
  const idle = await poll()
  expect(idle.status).toBe(200)
  expect(idle.headers['content-type']).toBe('application/hal+json; charset=utf-8')
  expect(idle.body.config.polling.sleep).toBe('00:05:00')
  expect(Object.keys(idle.body._links)).toEqual(['configData'])
  expect((await send('GET /api/v1/devices/d0')).body.status).toBe('online')
  await deploy()
  expect((await poll()).body.config.polling.sleep).toBe('00:00:10')
  const path = await linked('deploymentBase')
  expect((await job()).status).toBe('pending')
  const { body } = await ask(`GET ${path}`)
  expect((await job()).status).toBe('notified')
  const { chunks, download, update } = body.deployment
  expect([body.id, download, update]).toEqual([path.split('/').at(-1), 'forced', 'attempt'])
  const [artifact] = chunks[0].artifacts
  const { pathname, search } = new URL(artifact._links.download.href)
  const image = (await app.inject(`${pathname}${search}`)).payload
  expect(artifact).toMatchObject({
    size: image.length,
    hashes: { sha256: hashOf('sha256', image), sha1: hashOf('sha1', image), md5: hashOf('md5', image) },
  })
  expect(artifact._links['download-http']).toEqual(artifact._links.download)
  await until(job, ({ status }) => status === 'downloading')
  for (const [execution, status] of [
    ['downloaded', 'downloaded'],
    ['proceeding', 'installing'],
  ] as const) {
    expect((await feedback(path, execution)).status).toBe(200)
    expect((await job()).status).toBe(status)
  }
  expect((await feedback(path, 'closed', 'success')).status).toBe(200)
  expect((await job()).status).toBe('confirming')
  expect((await feedback(path, 'proceeding')).status).toBe(410)
  expect(await until(job, ({ status }) => status !== 'confirming')).toMatchObject({ status: 'succeeded' })
  expect((await send('GET /api/v1/devices/d0')).body.firmware_version).toBe('2.0')
  expect((await ask(`GET ${path}`)).status).toBe(410)
})

test('attributes are requested once and again after a success, and a version that contradicts it is believed', async () => {
  const { ask, poll, deploy, job, until, linked, feedback, send } = await openDdi()
  const put = (body: object) => ask('PUT configData', body)
  expect((await put({ data: { version: '1.0', hw: 'a', old: 'x' } })).status).toBe(200)
  expect((await poll()).body._links.configData).toBeUndefined()
  await put({ mode: 'merge', data: { hw: 'b' } })
  const read = async () => (await send('GET /api/v1/devices/d0')).body
  expect(await read()).toMatchObject({
    firmware_version: '1.0',
    metadata: { ddi: { version: '1.0', hw: 'b', old: 'x' } },
  })
  await put({ mode: 'remove', data: { old: '' } })
  expect((await read()).metadata.ddi).toEqual({ version: '1.0', hw: 'b' })
  await put({ mode: 'replace', data: { hw: 'c' } })
  expect((await read()).metadata.ddi).toEqual({ hw: 'c' })
  await deploy({ rollback_on_failure: false, retry: { max: 0 } })
  const path = await linked('deploymentBase')
  await ask(`GET ${path}`)
  await put({ data: { firmware_version: '1.0' } })
  await feedback(path, 'closed', 'success')
  expect((await job()).status).toBe('confirming')
  expect((await poll()).body._links.configData).toBeDefined()
  await put({ data: { firmware_version: '1.0' } })
  expect(await until(job, ({ status }) => status !== 'confirming')).toMatchObject({
    status: 'failed',
    error: { code: 'ROLLED_BACK_BY_DEVICE' },
  })
})

test('a failure keeps the message of the device, and a rejection is retried later', async () => {
  const { ask, clock, deploy, job, linked, feedback } = await openDdi()
  await deploy({ rollback_on_failure: false, retry: { max: 0 } })
  const path = await linked('deploymentBase')
  await ask(`GET ${path}`)
  expect((await feedback(path, 'rejected')).status).toBe(200)
  expect(await job()).toMatchObject({
    ...{ status: 'pending', held_reason: 'deferred', next_attempt_at: null },
    deferred_until: new Date(clock.at + 600_000).toISOString(),
  })
  clock.at += 600_000
  expect(await linked('deploymentBase')).toBe(path)
  await ask(`GET ${path}`)
  await feedback(path, 'closed', 'failure', { details: ['no room', 'on the disk'] })
  expect(await job()).toMatchObject({
    status: 'failed',
    error: { code: 'FAILED', message: 'no room; on the disk' },
  })
})

test.each([
  [['download'], 'downloading'],
  [['downloaded'], 'downloaded'],
  [['downloaded', 'scheduled'], 'installing'],
  [['downloaded', 'resumed'], 'installing'],
  [['downloaded', 'proceeding'], 'installing'],
  // Clients also report this while they download.
  [['proceeding'], 'notified'],
  [['canceled'], 'cancelled'],
])('a device that says %j has its job in %s', async (steps, status) => {
  const { ask, deploy, job, linked, feedback } = await openDdi()
  await deploy({ force: true })
  const path = await linked('deploymentBase')
  const { body, headers } = await ask(`GET ${path}`, undefined, undefined, { accept: 'text/html' })
  expect([body.deployment.update, headers['content-type']]).toEqual([
    'forced',
    'application/hal+json; charset=utf-8',
  ])
  for (const step of steps) expect((await feedback(path, step)).status).toBe(200)
  expect((await job()).status).toBe(status)
})

test('a long failure message is truncated, and a report without a result counts as success', async () => {
  const { ask, deploy, job, linked, feedback } = await openDdi()
  await deploy({ rollback_on_failure: false, retry: { max: 0 } })
  const path = await linked('deploymentBase')
  await ask(`GET ${path}`)
  await feedback(path, 'closed', 'failure', { details: ['x'.repeat(600), 'y'.repeat(600)] })
  expect((await job()).error.message).toBe(`${'x'.repeat(600)}; ${'y'.repeat(422)}`)
  await deploy({ force: true })
  const next = await linked('deploymentBase')
  await ask(`GET ${next}`)
  expect((await feedback(next, 'closed', 'none')).status).toBe(200)
  expect((await job()).status).toBe('confirming')
})

test('a device sleeps until its update may start, and for five minutes at most', async () => {
  const { deploy, poll, job, until, linked, clock } = await openDdi()
  const startAt = clock.at + 420_000
  await deploy({ start_at: new Date(startAt).toISOString() })
  await until(job, (seen) => seen !== undefined)
  const sleep = async () => (await poll()).body.config.polling.sleep
  expect(await sleep()).toBe('00:05:00')
  clock.at = startAt - 90_000
  expect(await sleep()).toBe('00:01:30')
  clock.at = startAt
  await linked('deploymentBase')
})

test('a device that may retry is told when, with a jitter of a fifth', async () => {
  const { ask, clock, deploy, job, linked, feedback } = await openDdi()
  await deploy({ retry: { max: 1, backoff_sec: [100], on: ['install_failed'] } })
  const path = await linked('deploymentBase')
  await ask(`GET ${path}`)
  for (const step of ['downloaded', 'proceeding']) await feedback(path, step)
  await feedback(path, 'closed', 'failure')
  const { status, held_reason: held, deferred_until: until, next_attempt_at: next } = await job()
  expect([status, held, until]).toEqual(['pending', 'backoff', null])
  const waitMs = Date.parse(next) - clock.at
  expect(waitMs).toBeGreaterThanOrEqual(80_000)
  expect(waitMs).toBeLessThanOrEqual(120_000)
})

test.each(['cancel', 'devices/d0/cancel'])('after %s the link of the image is withdrawn', async (line) => {
  const { ask, app, deploy, linked, send, until } = await openDdi()
  const { deployment_id: id } = (await deploy()).body
  const { body } = await ask(`GET ${await linked('deploymentBase')}`)
  const { pathname, search } = new URL(body.deployment.chunks[0].artifacts[0]._links.download.href)
  const load = () => app.inject(`${pathname}${search}`)
  expect((await load()).statusCode).toBe(200)
  expect((await send(`POST ${DEPLOYMENTS}/${id}/${line}`)).status).toBe(200)
  const refused = await until(load, ({ statusCode }) => statusCode !== 200)
  expect([refused.statusCode, JSON.parse(refused.payload).code]).toEqual([410, 'DOWNLOAD_WITHDRAWN'])
})

test('a device is told about a cancellation until it confirms it', async () => {
  const { ask, poll, deploy, job, linked, feedback, send } = await openDdi()
  const { deployment_id: id } = (await deploy()).body
  const path = await linked('deploymentBase')
  await ask(`GET ${path}`)
  await send(`POST /api/v1/ota/deployments/${id}/cancel`)
  const cancel = await linked('cancelAction')
  expect((await poll()).body._links.deploymentBase).toBeUndefined()
  const number = path.split('/').at(-1)
  expect((await ask(`GET ${cancel}`)).body).toEqual({ id: number, cancelAction: { stopId: number } })
  expect((await feedback(path, 'downloaded')).status).toBe(410)
  expect((await feedback(cancel, 'proceeding')).status).toBe(200)
  expect((await ask(`GET ${cancel}`)).status).toBe(200)
  expect((await feedback(cancel, 'closed', 'success')).status).toBe(200)
  expect((await ask(`GET ${cancel}`)).status).toBe(404)
  expect((await poll()).body._links.cancelAction).toBeUndefined()
  expect((await job()).status).toBe('cancelled')
})

test('a device that stops polling is offline after twice its sleep plus a minute, and takes no place', async () => {
  const { poll, deploy, job, clock, until, engine, deviceId } = await openDdi()
  await poll()
  const since = clock.at
  const statusNow = async () => {
    clock.at += 1_000
    return engine.devices.get(deviceId)?.status
  }
  await until(statusNow, (status) => status === 'offline')
  expect(clock.at - since).toBeGreaterThanOrEqual(660_000)
  await deploy()
  expect(await until(job, ({ held_reason: why }) => why === 'offline')).toMatchObject({ status: 'pending' })
})

describe('a request is refused', () => {
  test('without a valid token of this device', async () => {
    const { ask, tokenOf, device, tokens, engine, send } = await openDdi()
    const other = await device('d1')
    const validFrom = engine.devices.get(other)?.tokensValidFrom ?? expect.fail('no device')
    const { token: foreign } = await tokens.issueDevice({ deviceId: other, validFrom, ttlSec: 60 })
    const good = await tokenOf()
    for (const authorization of [
      '',
      `Bearer ${good}`,
      'TargetToken x',
      `TargetToken ${foreign}`,
      `GatewayToken ${foreign}`,
    ]) {
      const { status, body } = await ask('GET ', undefined, authorization)
      expect([status, body.code], authorization.slice(0, 12)).toEqual([401, 'UNAUTHENTICATED'])
    }
    const { body } = await ask('GET ', undefined, 'TargetToken x')
    expect(body.detail).toBe('the device token is invalid')
    const asker = `TargetToken ${await tokenOf(['subscribe'])}`
    expect((await ask('GET ', undefined, asker)).status).toBe(200)
    expect((await ask('PUT configData', { data: {} }, asker)).status).toBe(403)
    expect((await ask('GET /DEFAULT/controller/v1/nobody')).status).toBe(401)
    await send('DELETE /api/v1/devices/d0')
    expect((await ask('GET ')).status).toBe(401)
  })

  test('for what the device does not have', async () => {
    const { ask, feedback } = await openDdi()
    for (const path of [
      'deploymentBase/7',
      'deploymentBase/x',
      'deploymentBase/-1',
      'cancelAction/7',
      'installedBase/7',
      'confirmationBase',
    ])
      expect((await ask(`GET ${path}`)).status, path).toBe(404)
    for (const path of ['deploymentBase/7', 'cancelAction/7', 'deploymentBase/99999999999'])
      expect((await feedback(path, 'closed', 'success')).status, path).toBe(404)
    expect((await ask('GET /OTHER/controller/v1/d0')).status).toBe(404)
  })

  test.each([
    ['POST ', 'GET, HEAD'],
    ['DELETE deploymentBase/7', 'GET, HEAD'],
    ['GET deploymentBase/7/feedback', 'POST'],
    ['POST configData', 'PUT'],
  ])('with a method that its path does not take: %s', async (line, allowed) => {
    const { ask } = await openDdi()
    const { status, body, headers } = await ask(line, {})
    expect([status, body.code, headers['allow']]).toEqual([405, 'METHOD_NOT_ALLOWED', allowed])
  })

  test.each([
    ['POST deploymentBase/7/feedback', undefined],
    ['POST deploymentBase/7/feedback', {}],
    ['POST deploymentBase/7/feedback', { status: { execution: 'flying', result: { finished: 'none' } } }],
    ['POST deploymentBase/7/feedback', { status: { execution: 'closed', result: { finished: 'maybe' } } }],
    ['POST cancelAction/7/feedback', { status: { execution: 'closed', details: [1] } }],
    ['PUT configData', {}],
    ['PUT configData', { data: { a: {} } }],
    ['PUT configData', { data: { '': 'x' } }],
    ['PUT configData', { mode: 'swap', data: {} }],
    ['PUT configData', { data: Object.fromEntries(Array.from({ length: 501 }, (_, i) => [`k${i}`, 'x'])) }],
  ])('with a body that means nothing: %s %j', async (line, body) => {
    const { ask } = await openDdi()
    const { status, body: problem } = await ask(line, body)
    expect([status, problem.code]).toEqual([422, 'VALIDATION_FAILED'])
  })

  test('if the attributes exceed the limit of metadata', async () => {
    const { ask } = await openDdi()
    const data = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`k${i}`, 'x'.repeat(500)]))
    expect((await ask('PUT configData', { data })).status).toBe(413)
  })
})

test('a gateway acts for its sub-devices with its own token', async () => {
  const { ask, device, tokens, engine } = await openDdi()
  const gateway = await device('gw', { type: 'gateway' })
  await device('sub', { parentId: 'gw' })
  const validFrom = engine.devices.get(gateway)?.tokensValidFrom ?? expect.fail('no device')
  const { token } = await tokens.issueDevice({ deviceId: gateway, validFrom, ttlSec: 60 })
  const path = 'GET /default/controller/v1/sub'
  expect((await ask(path, undefined, `GatewayToken ${token}`)).status).toBe(200)
  expect((await ask(path, undefined, `TargetToken ${token}`)).status).toBe(401)
})

test('the API does not exist unless it is switched on', async () => {
  const { app } = openHarness()
  expect((await app.inject('/DEFAULT/controller/v1/d0')).statusCode).toBe(404)
})
