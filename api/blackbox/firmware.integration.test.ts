// Firmware from its upload to the proof that devices run it, seen from outside.
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { applied, PROFILE, type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { updatingDevice } from './testing/updating-device.ts'

const harness = new ServiceHarness()
let service: Service
let admin: Rest

beforeAll(async () => {
  service = await harness.start({ FLEET_DDI: 'on' })
  admin = await service.admin()
  await upload('1.0')
  await upload('2.0')
})
afterAll(() => harness.close())

async function upload(version: string): Promise<void> {
  const form = new FormData()
  form.set('version', version)
  form.set('device_type', 'mqtt_device')
  form.set('file', new Blob([`image of ${version}`]), 'firmware.bin')
  const response = await fetch(`${service.httpUrl}/api/v1/ota/firmware`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin.token}` },
    body: form,
  })
  expect([response.status, version]).toEqual([201, version])
}

/** Registers the device if it has no token yet. `isGood`: the new image runs. */
async function updating(id: string, { isGood = true, token }: { isGood?: boolean; token?: string } = {}) {
  const secret = token ?? (await registerDevice(admin, id, { group: id.slice(0, 1) }))
  return updatingDevice(service, { id, token: secret, isGood })
}

async function deploy(group: string, more: object = {}): Promise<string> {
  const body = { firmware_version: '2.0', target: { type: 'group', value: group }, stable_sec: 0, ...more }
  const made = await admin.post('/ota/deployments', body)
  expect(made).toMatchObject({ status: 201 })
  return String(made.body['deployment_id'])
}

const ended = (id: string) =>
  until(`${id} ends`, async () => {
    const { body } = await admin.get(`/ota/deployments/${id}`)
    return body['finished_at'] === null ? undefined : body
  })

test('canaries go first, the rest follows, and each device runs what it was sent', async () => {
  const fleet = await Promise.all(['a1', 'a2', 'a3', 'a4'].map((id) => updating(id)))
  const id = await deploy('a', { strategy: 'canary', canary: { count: 1, soak_sec: 1 } })
  expect(await ended(id)).toMatchObject({ status: 'completed', progress: { succeeded: 4 } })
  expect(fleet.map(({ version }) => version())).toEqual(['2.0', '2.0', '2.0', '2.0'])
  const { body } = await admin.get('/devices/a1')
  expect(body).toMatchObject({ firmware: { version: '2.0', previous_version: '1.0', update: null } })
  const { text } = await service.nobody.get('//metrics')
  expect(text.match(/(?<=^# TYPE )fleet_ota_\w+/gm)?.sort()).toEqual([
    'fleet_ota_deployments',
    'fleet_ota_download_bytes_total',
    'fleet_ota_downloads_active',
    'fleet_ota_downloads_refused_total',
    'fleet_ota_job_moves_total',
    'fleet_ota_jobs',
    'fleet_ota_orchestrator_seconds_total',
    'fleet_ota_phase_seconds',
    'fleet_ota_rollbacks_total',
    'fleet_ota_storage_bytes',
    'fleet_ota_upload_bytes_total',
  ])
  await Promise.all(fleet.map((device) => device.end()))
})

test('a device that says only the hash of its image runs the version of that image, and can go back', async () => {
  const found = await admin.get('/ota/firmware?version=2.0')
  const [{ sha256: hash } = { sha256: '' }] = found.body['data'] as readonly { readonly sha256: string }[]
  const token = await registerDevice(admin, 'h1', { group: 'h' })
  const old = await connectDevice(service, 'h1', token)
  await publish(
    old,
    'h1',
    { status: 'online', firmware_version: '1.0', firmware_sha256: 'ab'.repeat(32) },
    'status',
  )
  const firmware = async () => (await admin.get('/devices/h1')).body['firmware']
  await applied(async () => expect(await firmware()).toMatchObject({ version: '1.0' }))
  await old.subscribeAsync('fleet/h1/ota', { qos: 1 })
  const told = new Promise((resolve) => old.once('message', resolve))
  const id = await deploy('h')
  await told
  await old.endAsync()
  const updated = await connectDevice(service, 'h1', token)
  await publish(updated, 'h1', { status: 'online', firmware_sha256: hash }, 'status')
  expect(await ended(id)).toMatchObject({ status: 'completed', progress: { succeeded: 1 } })
  expect(await firmware()).toMatchObject({ version: '2.0', sha256: hash, previous_version: '1.0' })
  await publish(updated, 'h1', { status: 'online', firmware_version: '3.0' }, 'status')
  const later = { version: '3.0', sha256: null, previous_version: '2.0' }
  await applied(async () => expect(await firmware()).toMatchObject(later))
  await updated.endAsync()
})

test('bad canaries stop it, and nobody else is told anything', async () => {
  const fleet = await Promise.all(['b1', 'b2', 'b3'].map((id) => updating(id, { isGood: false })))
  const canary = { strategy: 'canary', canary: { count: 1, soak_sec: 1 }, retry: { max: 0 } }
  expect(await ended(await deploy('b', canary))).toMatchObject({
    status: 'aborted',
    status_reason: 'success_percent',
    progress: { rolled_back: 1, cancelled: 2 },
  })
  expect(fleet.filter(({ told }) => told.length > 0)).toHaveLength(1)
  await Promise.all(fleet.map((device) => device.end()))
})

/** The device as a client of the DDI: what it is to do now, if anything, and what it says of it. */
async function ddiOf(id: string) {
  const token = await registerDevice(admin, id, { group: id.slice(0, 1) })
  const headers = { authorization: `TargetToken ${token}`, 'content-type': 'application/json' }
  const at = (path: string) => `${service.httpUrl}/DEFAULT/controller/v1/${id}${path}`
  const offer = () =>
    until(`${id} is offered something`, async () => {
      const { _links: links } = Object(await (await fetch(at(''), { headers })).json())
      return links.deploymentBase === undefined ? undefined : new URL(links.deploymentBase.href).pathname
    })
  const read = async (path: string) => (await fetch(`${service.httpUrl}${path}`, { headers })).status
  const say = async (path: string, execution: string, finished = 'none') => {
    const body = JSON.stringify({ status: { execution, result: { finished } } })
    return (await fetch(`${service.httpUrl}${path}/feedback`, { method: 'POST', headers, body })).status
  }
  return { offer, read, say }
}

const stored = async () =>
  /^fleet_ota_storage_bytes (\d+)$/m.exec((await service.nobody.get('//metrics')).text)?.[1]

/** Sends the first mebibyte of an image of two. Resolves once some of it is on disk, where the embedded profile has it. */
async function halfUpload(version: string): Promise<void> {
  const { host, hostname, port } = new URL(service.httpUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  const field = (name: string, value: string) =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const head =
    `POST /api/v1/ota/firmware HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${admin.token}\r\n` +
    `content-type: multipart/form-data; boundary=b\r\ncontent-length: ${2 * 2 ** 20}\r\n\r\n`
  const file = '--b\r\ncontent-disposition: form-data; name="file"; filename="f.bin"\r\n\r\n'
  socket.write(head + field('version', version) + field('device_type', 'mqtt_device') + file)
  socket.write(Buffer.alloc(2 ** 20, 5))
  await until('some of it is on disk', () => readdirSync(unfinished()).length > 0)
}
const unfinished = () => join(service.dataDir, 'blobs', 'unfinished')

test('the link of a job that was cancelled alone stays withdrawn over a crash of the service', async () => {
  const token = await registerDevice(admin, 'l1', { group: 'l' })
  const client = await connectDevice(service, 'l1', token)
  await client.subscribeAsync('fleet/l1/ota', { qos: 1 })
  await publish(client, 'l1', { status: 'online', firmware_version: '1.0' }, 'status')
  const told = new Promise<Buffer>((resolve) => client.once('message', (_, payload) => resolve(payload)))
  const id = await deploy('l')
  const { pathname, search } = new URL(JSON.parse(String(await told)).url)
  const statusOf = async () => (await fetch(`${service.httpUrl}${pathname}${search}`)).status
  expect(await statusOf()).toBe(200)
  expect(await admin.post(`/ota/deployments/${id}/devices/l1/cancel`, {})).toMatchObject({ status: 200 })
  await applied(async () => expect(await statusOf()).toBe(410))
  await client.endAsync()
  service.kill('SIGKILL')
  await service.ended
  service = await service.again()
  admin = await service.admin()
  expect(await statusOf()).toBe(410)
})

test('a deployment outlives the service, also for a device in the middle of the DDI; of half an upload nothing is left', async () => {
  const token = await registerDevice(admin, 'c1', { group: 'c' })
  const ddi = await ddiOf('c2')
  const id = await deploy('c')
  const path = await ddi.offer()
  expect(await ddi.read(path)).toBe(200)
  for (const step of ['downloaded', 'proceeding']) expect(await ddi.say(path, step)).toBe(200)
  const before = await stored()
  if (PROFILE === 'embedded') await halfUpload('3.0')
  service.kill('SIGKILL')
  await service.ended
  service = await service.again()
  admin = await service.admin()
  expect(await stored()).toBe(before)
  if (PROFILE === 'embedded') expect(readdirSync(unfinished())).toEqual([])
  await upload('3.0')
  const device = await updating('c1', { token })
  expect(await ddi.offer()).toBe(path)
  expect(await ddi.say(path, 'closed', 'success')).toBe(200)
  expect(await ended(id)).toMatchObject({ status: 'completed', progress: { succeeded: 2 } })
  expect(await ddi.read(path)).toBe(410)
  expect(device.told).toHaveLength(1)
  await device.end()
})
