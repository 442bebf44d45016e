// The device library against the whole service: what it promises a program of a device.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect } from 'vitest'
import { FleetDevice, type FleetDeviceOptions, fileStorage } from '../../engine/edge/device/index.ts'
import { applied, type Service, ServiceHarness, until } from './testing/service.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const folder = mkdtempSync(join(tmpdir(), 'fleet-sdk-'))
const open: FleetDevice[] = []
let service: Service
let admin: Rest

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
})
afterEach(async () => {
  for (const device of open.splice(0)) await device.close()
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
})

async function newDevice(id: string, over: Partial<FleetDeviceOptions> = {}): Promise<FleetDevice> {
  const token = over.token ?? (await registerDevice(admin, id))
  const device = new FleetDevice({
    ...{ url: service.mqttUrl, deviceId: id, token, firmwareVersion: '1.0.0' },
    ...over,
  })
  open.push(device)
  return device
}

test('measurements, logs and the version arrive, and the farewell makes the device offline', async () => {
  const device = await newDevice('sdk-1')
  await device.connect()
  await device.telemetry({ temperature: 21.5 })
  await device.telemetry({ percent: 88 }, 'battery')
  await device.log('warn', 'the wheel slips', { wheel: 'left' })
  await applied(async () => {
    const { body } = await admin.get('/telemetry/sdk-1')
    expect(body['data']).toMatchObject({ temperature: 21.5, battery: { percent: 88 } })
    expect((await admin.get('/devices/sdk-1')).body).toMatchObject({
      status: 'online',
      firmware_version: '1.0.0',
    })
  })
  await until('the log line is there', async () => {
    const { text } = await admin.get('/devices/sdk-1/logs')
    return text.includes('the wheel slips')
  })
  await device.close()
  await until(
    'the device is offline',
    async () => (await admin.get('/devices/sdk-1')).body['status'] === 'offline',
  )
})

test('a command is carried out and its result told, and an unknown one is rejected', async () => {
  const storage = fileStorage(join(folder, 'sdk-2'))
  const token = await registerDevice(admin, 'sdk-2')
  const first = await newDevice('sdk-2', { token, storage })
  let runs = 0
  first.onCommand('dock', async ({ bay }, { progress }) => {
    runs++
    progress(50)
    return { bay: bay ?? null }
  })
  await first.connect()
  const done = await admin.post('/commands/sdk-2?wait=20', { command: 'dock', data: { bay: 3 } })
  expect(done.body).toMatchObject({ status: 'completed', result: { bay: 3 } })
  const unknown = await admin.post('/commands/sdk-2?wait=20', { command: 'fly' })
  expect(unknown.body).toMatchObject({ status: 'rejected', error: { code: 'UNKNOWN_COMMAND' } })
  expect(runs).toBe(1)
})

test('a command is answered in time while measurements of a long outage are still being sent', async () => {
  const harness = new ServiceHarness()
  try {
    const limited = await harness.start({ FLEET_DEVICE_PUBLISH_RATE: '100' })
    const rest = await limited.admin()
    const token = await registerDevice(rest, 'sdk-outage')
    const device = await newDevice('sdk-outage', { url: limited.mqttUrl, token })
    device.onCommand('dock', () => ({ bay: 3 }))
    let waiting = 4_000
    for (let n = 0; n < 4_000; n++) {
      const timestamp = new Date(Date.now() - n * 1_000).toISOString()
      device.telemetry({ timestamp, n }).then(
        () => waiting--,
        () => undefined,
      )
    }
    await device.connect()
    const { body } = await rest.post('/commands/sdk-outage?wait=60', { command: 'dock', timeout_sec: 60 })
    expect(body).toMatchObject({ status: 'completed', result: { bay: 3 } })
    expect(waiting).toBeGreaterThan(0)
    await device.close()
  } finally {
    await harness.close()
  }
})

test('what is desired is applied and reported, also if it was desired while the device was away', async () => {
  const device = await newDevice('sdk-3')
  device.onDesired((delta) => delta)
  await admin.call('PUT', '/shadows/sdk-3/desired', { led: 'on', speed: 2 })
  await device.connect()
  const inSync = () =>
    until('the shadow is in sync', async () => (await admin.get('/shadows/sdk-3')).body['in_sync'] === true)
  await inSync()
  await admin.call('PUT', '/shadows/sdk-3/desired', { led: 'off' })
  await inSync()
  expect((await admin.get('/shadows/sdk-3')).body).toMatchObject({ reported: { led: 'off', speed: 2 } })
  expect(await device.report({ mood: 'fine' })).toBeGreaterThan(0)
})

test('what is measured while the service is down arrives afterwards, with its own time', async () => {
  const device = await newDevice('sdk-4')
  await device.connect()
  await device.telemetry({ n: 0 })
  const from = Date.now()
  service.kill('SIGKILL')
  await service.ended
  const sent = Array.from({ length: 50 }, (_, i) => {
    const timestamp = new Date(from + i).toISOString()
    return device.telemetry({ n: i + 1, timestamp })
  })
  service = await service.again()
  admin = await service.admin()
  await Promise.all(sent)
  const range = `from=${new Date(from).toISOString()}&to=${new Date(from + 50).toISOString()}`
  await until('every point is there once', async () => {
    const { body } = await admin.get(`/telemetry/sdk-4/history?metric=n&interval=raw&${range}`)
    const { data } = body
    return Array.isArray(data) && data.length === 50
  })
})

test('a device with a wrong token is told so at its first connect', async () => {
  const device = await newDevice('sdk-5', { token: 'wrong' })
  await expect(device.connect()).rejects.toThrow('check its id and its token')
})
