// Firmware from the upload to the proof, with a device that uses the library.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'
import { type FirmwareMessage, FleetDevice, fileStorage } from '../../engine/edge/device/index.ts'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const harness = new ServiceHarness()
const IMAGE = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7) % 256))
let service: Service
let admin: Rest

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
  const form = new FormData()
  form.set('version', '7.2.0')
  form.set('device_type', 'mqtt_device')
  form.set('file', new Blob([IMAGE]), 'robot.bin')
  const uploaded = await fetch(`${service.httpUrl}/api/v1/ota/firmware`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin.token}` },
    body: form,
  })
  expect(uploaded.status, await uploaded.clone().text()).toBe(201)
})
afterAll(() => harness.close())

/** A device that installs by keeping the image, and restarts as a new one of the installed version. */
class Robot {
  readonly #id: string
  readonly #token: string
  readonly #folder = harness.newFolder()
  readonly installed: Buffer[] = []
  #device: FleetDevice | undefined
  #runs = '1.0.0'

  constructor(id: string, token: string) {
    this.#id = id
    this.#token = token
  }

  async boot(): Promise<void> {
    const device = new FleetDevice({
      ...{ url: service.mqttUrl, deviceId: this.#id, token: this.#token, firmwareVersion: this.#runs },
      storage: fileStorage(join(this.#folder, 'state')),
    })
    device.onFirmware({
      folder: join(this.#folder, 'images'),
      install: (file) => void this.installed.push(readFileSync(file)),
      reboot: (about) => this.#reboot(about),
    })
    this.#device = device
    await device.connect()
  }

  async stop(): Promise<void> {
    await this.#device?.close()
  }

  async #reboot({ reportsAs }: FirmwareMessage): Promise<void> {
    await this.stop()
    this.#runs = reportsAs
    await this.boot()
  }
}

async function deploy(id: string): Promise<string> {
  const created = await admin.post('/ota/deployments', {
    ...{ firmware_version: '7.2.0', device_type: 'mqtt_device', stable_sec: 0 },
    target: { type: 'device', value: id },
  })
  expect(created.status, created.text).toBe(201)
  return String(created.body['deployment_id'])
}

test('a device installs what is deployed, and the version that it connects with completes the deployment', async () => {
  const robot = new Robot('ota-sdk-1', await registerDevice(admin, 'ota-sdk-1'))
  await robot.boot()
  const deployment = await deploy('ota-sdk-1')
  await until('the deployment is completed', async () => {
    const { body } = await admin.get(`/ota/deployments/${deployment}`)
    return body['status'] === 'completed'
  })
  expect(robot.installed.map((image) => image.equals(IMAGE))).toEqual([true])
  expect((await admin.get('/devices/ota-sdk-1')).body).toMatchObject({ firmware_version: '7.2.0' })
  await robot.stop()
})

test('a device that was away is offered the firmware when it comes back', async () => {
  const robot = new Robot('ota-sdk-2', await registerDevice(admin, 'ota-sdk-2'))
  const deployment = await deploy('ota-sdk-2')
  await robot.boot()
  await until('the deployment is completed', async () => {
    const { body } = await admin.get(`/ota/deployments/${deployment}`)
    return body['status'] === 'completed'
  })
  expect(robot.installed).toHaveLength(1)
  await robot.stop()
})
