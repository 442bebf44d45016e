// The Python example of a device against the whole service.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect } from 'vitest'
import { type Service, until } from './testing/service.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const PYTHON = process.env['TEST_SERVER_PYTHON_WITH_PAHO']
const MISSING = process.env['TEST_SERVER_PYTHON_WITH_PAHO_MISSING'] ?? 'npm test looks for it'
const PROGRAM = fileURLToPath(new URL('../../engine/edge/examples/python/device.py', import.meta.url))
const ID = 'python-1'
const CONNACK = Buffer.from([0x20, 2, 0, 0])

describe.skipIf(PYTHON === undefined)(PYTHON ? 'device.py' : `device.py: ${MISSING}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-python-'))
  let service: Service
  let admin: Rest
  let token: string
  let program: ChildProcess | undefined

  test.beforeAll(async ({ service: given }) => {
    service = given
    admin = await service.admin()
    token = await registerDevice(admin, ID)
    start()
    await until('the device is online', async () => (await device())['status'] === 'online')
  })
  afterAll(async () => {
    program?.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })

  const device = async () => (await admin.get(`/devices/${ID}`)).body

  function start(): void {
    program = run({})
  }

  function run(environment: NodeJS.ProcessEnv): ChildProcess {
    return spawn(PYTHON ?? '', [PROGRAM], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        FLEET_MQTT_URL: service.mqttUrl,
        FLEET_DEVICE_ID: ID,
        FLEET_DEVICE_TOKEN: token,
        FLEET_STATE_DIR: folder,
        FLEET_TELEMETRY_SEC: '0.2',
        ...environment,
      },
    })
  }

  async function stop(signal: NodeJS.Signals): Promise<void> {
    const ended = new Promise((resolve) => program?.once('exit', resolve))
    program?.kill(signal)
    await ended
  }

  test('measures, says its version, carries commands out and follows its shadow', async () => {
    // The device says its version after it has connected.
    await until('its version', async () => (await device())['firmware_version'] === '1.0.0')
    await until('a measurement is there', async () => {
      const { body } = await admin.get(`/telemetry/${ID}`)
      return 'temperature' in Object(body['data'])
    })
    const done = await admin.post(`/commands/${ID}?wait=20`, { command: 'blink', data: { times: 3 } })
    expect(done.body).toMatchObject({ status: 'completed', result: { times: 3 } })
    const unknown = await admin.post(`/commands/${ID}?wait=20`, { command: 'fly' })
    expect(unknown.body).toMatchObject({ status: 'rejected', error: { code: 'UNKNOWN_COMMAND' } })
    const failed = await admin.post(`/commands/${ID}?wait=20`, { command: 'blink', data: { times: 'x' } })
    expect(failed.body).toMatchObject({ status: 'failed', error: { code: 'FAILED' } })
    await admin.call('PUT', `/shadows/${ID}/desired`, { led: 'on' })
    await until('the shadow is in sync', async () => {
      const { body } = await admin.get(`/shadows/${ID}`)
      return body['in_sync'] === true && Object(body['reported'])['led'] === 'on'
    })
  })

  test('carries a command out once there is room to store that it was begun', async () => {
    const sessionId = async () => Object((await device())['connectivity'])['session_id']
    const before = await sessionId()
    const obstacle = join(folder, 'commands.json.part')
    mkdirSync(obstacle)
    const { body } = await admin.post(`/commands/${ID}`, { command: 'blink', data: { times: 2 } })
    await until('it connects again', async () => (await sessionId()) !== before)
    rmdirSync(obstacle)
    await until('the command is completed', async () => {
      const command = await admin.get(`/commands/${ID}/${body['command_id']}`)
      return command.body['status'] === 'completed'
    })
  })

  test('waits longer each time if its connections break as soon as they are accepted', async () => {
    const triedAt: number[] = []
    const server = createServer((socket) => {
      triedAt.push(performance.now())
      socket.on('error', () => undefined)
      socket.once('data', () => {
        socket.write(CONNACK)
        socket.once('data', () => socket.destroy())
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const state = mkdtempSync(join(folder, 'unsteady-'))
    const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`
    const unsteady = run({ FLEET_MQTT_URL: url, FLEET_STATE_DIR: state })
    try {
      await until('five tries', async () => triedAt.length >= 5)
    } finally {
      unsteady.kill('SIGKILL')
      server.close()
    }
    const [, second = 0, , , fifth = 0] = triedAt
    // Three waits of a second at least. A busy machine may see the first of these tries late.
    expect(fifth - second).toBeGreaterThanOrEqual(2_500)
  })

  test('comes back after a kill -9, takes what was desired meanwhile, and says goodbye', async () => {
    await stop('SIGKILL')
    await until(
      'the device is gone',
      async () => Object((await device())['connectivity'])['connected'] === false,
    )
    await admin.call('PUT', `/shadows/${ID}/desired`, { led: 'blue' })
    start()
    await until('the shadow is in sync', async () => {
      const { body } = await admin.get(`/shadows/${ID}`)
      return body['in_sync'] === true && Object(body['reported'])['led'] === 'blue'
    })
    await stop('SIGTERM')
    // The program waits for its last acknowledgement for two seconds only, so a busy service may be later than its end.
    await until('the goodbye', async () => (await device())['status_reason'] === 'shutdown')
    expect(await device()).toMatchObject({ status: 'offline' })
  })
})
