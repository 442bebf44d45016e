// When deployments start and end: start times, windows, deadlines, and devices that stay offline.
import { expect, test } from 'vitest'
import { many, openDeploying, DEPLOYMENTS_PATH as PATH } from '../testing/deploying.ts'
import { NOW } from '../testing/rest.ts'
import { uploadFirmware } from '../testing/updating-fleet.ts'

const MINUTE_MS = 60_000
const iso = (at: number) => new Date(at).toISOString()
/** Half a minute for each phase, except for being offline. */
const BRIEF = {
  timeouts: { download_sec: 10, install_sec: 10, reboot_sec: 5, confirm_sec: 5 },
  stable_sec: 0,
  retry: { max: 0 },
}

test('nobody is told of a deployment before its start', async () => {
  const { deploy, until, ends, fleet, clock, read } = await openDeploying(many(3))
  const startAt = NOW + 20 * MINUTE_MS
  const { body } = await deploy({ start_at: iso(startAt), offline_ttl_sec: 600, ...BRIEF })
  const id = body.deployment_id
  expect(body).toMatchObject({ status: 'scheduled', start_at: iso(startAt) })
  expect(body.deadline_at).toBe(iso(startAt + 630_000))
  await until(id, ({ held }) => Reflect.get(Object(held), 'window') === 3)
  clock.at = startAt - 1_000
  expect((await read(id)).status).toBe('scheduled')
  expect(fleet.flatMap(({ received: told }) => told)).toEqual([])
  expect(await ends(id)).toMatchObject({ status: 'completed', progress: { succeeded: 3 } })
  for (const { received: told } of fleet) {
    expect(told).toHaveLength(1)
    expect(Date.parse(String(told[0]?.['issued_at']))).toBeGreaterThanOrEqual(startAt)
  }
})

test('a start in the past means now, for the deadline as well', async () => {
  const { deploy, ends } = await openDeploying(many(2))
  const startAt = NOW - 30 * 24 * 60 * MINUTE_MS
  const { body } = await deploy({ start_at: iso(startAt), offline_ttl_sec: 600, ...BRIEF })
  expect(body).toMatchObject({ status: 'pending', deadline_at: iso(NOW + 630_000) })
  expect(await ends(body.deployment_id)).toMatchObject({ status: 'completed', progress: { succeeded: 2 } })
})

test('a scheduled deployment does not block later ones that start first, and its devices end on its version', async () => {
  const harness = await openDeploying(many(2))
  const { deploy, until, ends, fleet, device, clock, send } = harness
  await uploadFirmware(harness, '1.5')
  const startAt = NOW + 20 * MINUTE_MS
  const { body: later } = await deploy({ start_at: iso(startAt), ...BRIEF })
  await until(later.deployment_id, ({ held }) => Reflect.get(Object(held), 'window') === 2)
  const { body: now } = await deploy({ firmware_version: '1.5', stable_sec: 0 })
  expect(await ends(now.deployment_id)).toMatchObject({ status: 'completed', progress: { succeeded: 2 } })
  expect(clock.at).toBeLessThan(startAt)
  const { jobs } = (await send('GET /api/v1/ota/devices/d0')).body
  expect(jobs).toMatchObject([
    { deployment_id: later.deployment_id, status: 'pending', held_reason: 'window' },
    { deployment_id: now.deployment_id, status: 'succeeded' },
  ])
  // A job that is still in progress at the start time finishes first.
  device('d0').disconnect()
  const { body: last } = await deploy({ firmware_version: '1.0', target: { type: 'device', value: 'd0' } })
  clock.at = startAt
  await until(later.deployment_id, ({ held }) => Reflect.get(Object(held), 'queued') === 1)
  await device('d0').connect()
  expect(await ends(later.deployment_id)).toMatchObject({ status: 'completed', progress: { succeeded: 2 } })
  expect(fleet.map(({ received: told }) => told.map(({ deployment_id: id }) => id))).toEqual([
    [now.deployment_id, last.deployment_id, later.deployment_id],
    [now.deployment_id, later.deployment_id],
  ])
})

test('the time a device may stay offline counts from the start of its deployment', async () => {
  const { deploy, until, ends, device, clock } = await openDeploying(many(2))
  device('d0').disconnect()
  const startAt = NOW + 20 * MINUTE_MS
  const { body } = await deploy({ start_at: iso(startAt), offline_ttl_sec: 600, ...BRIEF })
  const id = body.deployment_id
  await until(id, ({ held }) => Reflect.get(Object(held), 'offline') === 1)
  clock.at = startAt
  await until(id, ({ progress }) => Reflect.get(Object(progress), 'succeeded') === 1)
  await device('d0').connect()
  expect(await ends(id)).toMatchObject({ status: 'completed', progress: { succeeded: 2 } })
})

test('the job of a device that stays offline too long times out, and is never sent', async () => {
  const { deploy, until, ends, device, send, clock } = await openDeploying(many(2))
  device('d0').disconnect()
  const { body } = await deploy({ offline_ttl_sec: 120, abort: { min_finished: 100 } })
  await until(body.deployment_id, ({ progress }) => Reflect.get(Object(progress), 'succeeded') === 1)
  clock.at = NOW + 119_000
  const end = await ends(body.deployment_id)
  expect(end).toMatchObject({ status: 'completed', progress: { succeeded: 1, failed: 1 } })
  expect(Date.parse(String(end['finished_at']))).toBeGreaterThanOrEqual(NOW + 120_000)
  const jobs = await send(`GET ${PATH}/${body.deployment_id}/devices?status=timed_out`)
  expect(jobs.body.data).toMatchObject([{ device_id: 'd0', error: { code: 'OFFLINE_TOO_LONG' } }])
  await device('d0').connect()
  expect(device('d0').received).toEqual([])
})

test('the deadline ends a deployment, even a paused one, and no further device is told', async () => {
  const { deploy, send, ends, fleet, clock } = await openDeploying(many(2))
  for (const device of fleet) device.disconnect()
  const { body } = await deploy({ offline_ttl_sec: 600, ...BRIEF })
  const id = body.deployment_id
  expect(body.deadline_at).toBe(iso(NOW + 630_000))
  expect((await send(`POST ${PATH}/${id}/pause`)).body.deadline_at).toBe(body.deadline_at)
  for (const device of fleet) await device.connect()
  clock.at = NOW + 629_000
  expect((await send(`GET ${PATH}/${id}`)).body.status).toBe('paused')
  const end = await ends(id)
  expect(end).toMatchObject({ status: 'failed', status_reason: 'deadline', progress: { cancelled: 2 } })
  const jobs = await send(`GET ${PATH}/${id}/devices`)
  expect(jobs.body.data).toMatchObject([{ error: { code: 'DEADLINE' } }, { error: { code: 'DEADLINE' } }])
  expect((await send(`POST ${PATH}/${id}/resume`)).body.code).toBe('INVALID_STATE_TRANSITION')
  expect(fleet.flatMap(({ received: told }) => told)).toEqual([])
})

test('a device is told the end of the window in which it starts, and that it need not hurry if there is none', async () => {
  const { deploy, until, ends, fleet, device, clock } = await openDeploying(many(2))
  const opens = Math.ceil(NOW / MINUTE_MS + 20) * MINUTE_MS
  const start = iso(opens).slice(11, 16)
  const { body } = await deploy({ windows: [{ start, duration_min: 30, tz: 'UTC' }] })
  await until(body.deployment_id, ({ held }) => Reflect.get(Object(held), 'window') === 2)
  clock.at = opens - 1_000
  expect(fleet.flatMap(({ received: told }) => told)).toEqual([])
  expect(await ends(body.deployment_id)).toMatchObject({ progress: { succeeded: 2 } })
  for (const { received: told } of fleet) {
    expect(told.map(({ not_after: notAfter }) => notAfter)).toEqual([iso(opens + 30 * MINUTE_MS)])
    expect(Date.parse(String(told[0]?.['issued_at']))).toBeGreaterThanOrEqual(opens)
  }
  const again = await deploy({ target: { type: 'device', value: 'd0' }, force: true })
  await ends(again.body.deployment_id)
  expect(device('d0').received.at(-1)?.['not_after']).toBeNull()
})

test('a device with eight waiting updates gets no ninth until one of them is cancelled', async () => {
  const { deploy, send, device } = await openDeploying(many(2))
  device('d0').disconnect()
  const wish = { target: { type: 'device', value: 'd0' } }
  const ids: string[] = []
  for (let i = 0; i < 8; i++) {
    const { status, body } = await deploy(wish)
    expect(status).toBe(201)
    ids.push(body.deployment_id)
  }
  const full = { code: 'EMPTY_TARGET', total: 1, skipped: { queue_full: 1 } }
  await expect.poll(async () => (await deploy({ ...wish, force: true })).body).toMatchObject(full)
  const both = await deploy()
  expect(both.body).toMatchObject({ total: 2, skipped: { queue_full: 1 } })
  const { body } = await send(`GET ${PATH}/${both.body.deployment_id}/devices?status=skipped`)
  expect(body.data).toMatchObject([{ device_id: 'd0', reason: 'queue_full' }])
  expect((await send(`POST ${PATH}/${ids[3]}/devices/d0/cancel`)).body.status).toBe('cancelled')
  expect((await deploy(wish)).status).toBe(201)
})

test('a device with eight waiting updates accepts one that replaces them, and a rollback', async () => {
  const harness = await openDeploying(many(1))
  const { deploy, send, device, until } = harness
  await uploadFirmware(harness, '0.9')
  device('d0').disconnect()
  const fill = async (count: number) => {
    for (let i = 0; i < count; i++) expect((await deploy()).status).toBe(201)
    const last = (await send(`GET ${PATH}?per_page=1`)).body.data[0].deployment_id
    await until(last, ({ held }) => Object.keys(Object(held)).length > 0)
  }
  const waiting = async () => {
    const { jobs } = (await send('GET /api/v1/ota/devices/d0')).body
    return jobs.filter(({ status }: { status: string }) => status === 'pending')
  }
  await fill(8)
  const taken = await deploy({ supersede: true })
  expect(taken.status).toBe(201)
  await expect.poll(waiting).toMatchObject([{ deployment_id: taken.body.deployment_id }])
  await fill(7)
  const back = await send('POST /api/v1/ota/rollback/d0', { version: '0.9' })
  expect(back.status).toBe(202)
  await expect.poll(waiting).toMatchObject([{ deployment_id: back.body.deployment_id }])
})
