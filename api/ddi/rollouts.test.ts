// Deployments as seen by a device that uses the DDI: rollbacks, windows and rates.
import { expect, test } from 'vitest'
import { NOW } from '../testing/rest.ts'
import { uploadFirmware } from '../testing/updating-fleet.ts'
import { DEPLOYMENTS, openDdi } from './testing/ddi-device.ts'

const MINUTE_MS = 60_000

test('a device that fails to install is offered its previous version under another number', async () => {
  const ddi = await openDdi()
  const { ask, deploy, job, until, linked, feedback } = ddi
  await uploadFirmware(ddi, '1.0')
  await ask('PUT configData', { data: { version: '1.0' } })
  await deploy({ rollback_on_failure: true, retry: { max: 0 } })
  const path = await linked('deploymentBase')
  await ask(`GET ${path}`)
  for (const step of ['downloaded', 'proceeding']) await feedback(path, step)
  await feedback(path, 'closed', 'failure', { details: ['bad flash'] })
  const back = await linked('deploymentBase')
  expect(await job()).toMatchObject({
    status: 'rolling_back',
    error: { code: 'FAILED', message: 'bad flash' },
  })
  expect(back).not.toBe(path)
  const { body } = await ask(`GET ${back}`)
  expect(body.deployment.chunks[0]).toMatchObject({ version: '1.0' })
  // Reports about the failed job are no longer accepted.
  expect((await feedback(path, 'proceeding')).status).toBe(410)
  for (const step of ['downloaded', 'proceeding']) await feedback(back, step)
  expect((await feedback(back, 'closed', 'success')).status).toBe(200)
  expect(await until(job, ({ status }) => status !== 'rolling_back')).toMatchObject({
    status: 'rolled_back',
    error: { code: 'FAILED' },
  })
})

test('a device is offered nothing before its window, and told when the window ends', async () => {
  const { ask, poll, deploy, send, until, linked, clock } = await openDdi()
  const start = new Date(NOW + 20 * MINUTE_MS).toISOString().slice(11, 16)
  const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']
  const made = await deploy({ windows: [{ days, start, duration_min: 10, tz: 'UTC' }] })
  expect(made.status).toBe(201)
  const waiting = async () => {
    await poll()
    return (await send(`GET ${DEPLOYMENTS}/${made.body.deployment_id}`)).body
  }
  expect(await until(waiting, ({ held }) => held.window === 1)).toMatchObject({ status: 'pending' })
  expect((await poll()).body._links.deploymentBase).toBeUndefined()
  clock.at = NOW + 21 * MINUTE_MS
  const path = await linked('deploymentBase')
  const window = async () => (await ask(`GET ${path}`)).body.deployment.maintenanceWindow
  expect(await window()).toBe('available')
  clock.at = NOW + 32 * MINUTE_MS
  expect(await window()).toBe('unavailable')
})

test('a device that polls too often is told when to retry, and others are not affected', async () => {
  const ddi = await openDdi({ requestRates: { perDevice: 3 } })
  const { poll, device, tokens, engine, ask, clock } = ddi
  const answers = []
  for (let i = 0; i < 5; i++) answers.push(await poll())
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429])
  const [refused] = answers.slice(-1)
  expect(refused?.body.code).toBe('RATE_LIMIT_EXCEEDED')
  expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(0)
  const other = await device('d1')
  const validFrom = engine.devices.get(other)?.tokensValidFrom ?? expect.fail('no device')
  const { token } = await tokens.issueDevice({ deviceId: other, validFrom, ttlSec: 60 })
  const elsewhere = await ask('GET /DEFAULT/controller/v1/d1', undefined, `TargetToken ${token}`)
  expect(elsewhere.status).toBe(200)
  clock.at += 1_000
  expect((await poll()).status).toBe(200)
})
