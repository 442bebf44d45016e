// Rollouts to simulated devices, over crashes of the service and with firmware that does not work.
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { builtIn } from '../../engine/edge/simulator/scenario/built-in.ts'
import { type Simulation, simulate } from '../../engine/edge/simulator/simulate.ts'
import type { UpdateShares } from '../../engine/edge/simulator/updates/update-kinds.ts'
import { passed, type Service, ServiceHarness, until } from './testing/service.ts'
import type { Rest } from './testing/service-rest.ts'

const harness = new ServiceHarness()
const IMAGE = Buffer.alloc(300_000, 7)
const LONG_MS = 240_000
let service: Service
let admin: Rest
let simulation: Simulation | undefined

interface JobRow {
  readonly device_id: string
  readonly status: string
  readonly attempt: number
  readonly bytes_sent: number
  readonly notified_at: string | null
  readonly finished_at: string | null
  readonly error: { readonly code: string } | null
}

beforeEach(async () => {
  service = await harness.start()
  admin = await service.admin()
})
afterEach(async () => {
  await simulation?.stop()
  await harness.end()
})
afterAll(() => harness.close())

/** A fourth of them are of the type `mqtt_device`. */
async function startFleet(count: number, updates: UpdateShares = {}): Promise<void> {
  const { httpUrl, mqttUrl } = service
  const running = await simulate({
    ...{ httpUrl, mqttUrl, token: admin.token ?? '' },
    scenario: builtIn({ count, seed: 1, updates }),
  })
  simulation = running
  await until('all are connected', () => running.connected() === count)
  await until('all have said what they run', async () => {
    const { body } = await admin.get('/devices?firmware_version=1.4.2&type=mqtt_device')
    return body['total'] === count / 4
  })
}

async function upload(version: string): Promise<void> {
  const form = new FormData()
  form.set('version', version)
  form.set('device_type', 'mqtt_device')
  form.set('file', new Blob([IMAGE, version]), 'image.bin')
  const headers = { authorization: `Bearer ${admin.token}` }
  const url = `${service.httpUrl}/api/v1/ota/firmware`
  expect((await fetch(url, { method: 'POST', headers, body: form })).status).toBe(201)
}

async function deploy(more: object = {}): Promise<string> {
  const about = { firmware_version: '2.0.0', stable_sec: 0, ...more }
  const created = await admin.post('/ota/deployments', {
    ...about,
    target: { type: 'type', value: 'mqtt_device' },
  })
  expect(created.status, created.text).toBe(201)
  return String(created.body['deployment_id'])
}

/** A service that is down for a moment is asked again. */
async function read(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const answer = await admin.get(`/ota/deployments/${id}`).catch(() => undefined)
  return answer?.status === 200 ? answer.body : undefined
}

async function ended(id: string): Promise<Readonly<Record<string, unknown>>> {
  const end = until(
    'the deployment ends',
    async () => {
      const body = await read(id)
      return body !== undefined && body['finished_at'] !== null && body
    },
    LONG_MS,
  )
  return end.catch(async (error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(await jobsOf(id))}`)
  })
}

async function jobsOf(id: string): Promise<readonly JobRow[]> {
  const { body } = await admin.get(`/ota/deployments/${id}/devices?per_page=200`)
  // The schema of the answer has tests of its own.
  return body['data'] as readonly JobRow[]
}

/** The most jobs that were between their message and their end at one time. */
function mostAtOnce(jobs: readonly JobRow[]): number {
  const moments = jobs.flatMap(({ notified_at: from, finished_at: to }) =>
    from === null || to === null
      ? []
      : [
          { at: Date.parse(from), step: 1 },
          { at: Date.parse(to), step: -1 },
        ],
  )
  // Who ended in the same millisecond made room.
  moments.sort((a, b) => a.at - b.at || a.step - b.step)
  let [now, most] = [0, 0]
  for (const { step } of moments) {
    now += step
    most = Math.max(most, now)
  }
  return most
}

test('simulated devices download, restart and prove what they run, and the bytes are counted', async () => {
  await startFleet(16)
  await upload('2.0.0')
  const id = await deploy()
  expect(await ended(id)).toMatchObject({ status: 'completed', progress: { succeeded: 4, percent: 100 } })
  const { body } = await admin.get('/devices?firmware_version=2.0.0')
  expect(body['total']).toBe(4)
  const size = IMAGE.length + '2.0.0'.length
  await until('the bytes are with the jobs', async () =>
    (await jobsOf(id)).every(({ bytes_sent: bytes }) => bytes === size),
  )
  const { text } = await service.nobody.get('//metrics')
  expect(text).toMatch(new RegExp(`^fleet_ota_download_bytes_total ${4 * size}$`, 'm'))
  expect(text).toContain('fleet_ota_job_moves_total{to="succeeded"} 4')
})

test('a service that is killed again and again loses no job, gives no place twice, and ends the rollout', {
  timeout: 2 * LONG_MS,
}, async () => {
  await startFleet(48, { quiet: 10, slow: 10, restart_midway: 10, defer: 10 })
  await upload('1.4.2')
  await upload('2.0.0')
  const id = await deploy({
    ...{ max_concurrent: 3, abort: { min_finished: 250_000 }, rollback_on_failure: false },
    retry: { max: 5, backoff_sec: [1] },
  })
  for (let kills = 0; kills < 4; kills++) {
    await passed(500 + Math.random() * 4_000)
    service.kill('SIGKILL')
    service = await service.again()
  }
  const end = await ended(id)
  const jobs = await jobsOf(id)
  expect(jobs.map(({ device_id, status, error }) => [device_id, status, error?.code])).toEqual(
    jobs.map(({ device_id }) => [device_id, 'succeeded', undefined]),
  )
  expect(end).toMatchObject({ status: 'completed', total: 12, progress: { succeeded: 12 } })
  expect(mostAtOnce(jobs)).toBeLessThanOrEqual(3)
})

test('canaries that all fail stop it: they go back by themselves, and nobody else is told anything', {
  timeout: 2 * LONG_MS,
}, async () => {
  await startFleet(32, { wrong_version: 100 })
  await upload('1.4.2')
  await upload('2.0.0')
  const id = await deploy({ strategy: 'canary', canary: { count: 3, soak_sec: 60 } })
  // A crash in the middle changes nothing about it.
  await until('a canary was told', async () => (await jobsOf(id)).some(({ attempt }) => attempt > 0))
  service.kill('SIGKILL')
  service = await service.again()
  expect(await ended(id)).toMatchObject({ status: 'rolled_back', total: 8 })
  const jobs = await jobsOf(id)
  const told = jobs.filter(({ attempt }) => attempt > 0)
  expect(told).toHaveLength(3)
  // The first to fail ends it. A canary that still downloads at that time is called off like everybody else.
  const ends = told.map(({ status, error }) => [status, error?.code])
  expect(ends).toContainEqual(['rolled_back', 'VERSION_MISMATCH'])
  for (const end of ends)
    expect([
      ['rolled_back', 'VERSION_MISMATCH'],
      ['cancelled', 'SUCCESS_PERCENT'],
    ]).toContainEqual(end)
  const others = jobs.filter(({ attempt }) => attempt === 0)
  expect(others.every(({ status, notified_at: at }) => status === 'cancelled' && at === null)).toBe(true)
  const { body } = await admin.get('/devices?firmware_version=1.4.2&type=mqtt_device')
  expect(body['total']).toBe(8)
})
