// The samples of the guide for devices, run as they stand there.
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, expect } from 'vitest'
import { type Service, until } from './testing/service.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const PYTHON = process.env['TEST_SERVER_PYTHON_WITH_PAHO']
const ROOT = new URL('../../', import.meta.url)
const [, SAMPLES = ''] = readFileSync(new URL('api/DEVICES.md', ROOT), 'utf8').split('\n## Samples\n')

const running: ChildProcess[] = []
let service: Service
let admin: Rest

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
})
afterAll(async () => {
  for (const child of running) child.kill()
})

/** The first code block of this language among the samples of whole devices. */
function sampleIn(language: string): string {
  return SAMPLES.split(`\`\`\`${language}\n`)[1]?.split('\n```')[0] ?? ''
}

async function tryOut(id: string, program: string, args: readonly string[]): Promise<void> {
  const token = await registerDevice(admin, id)
  const { hostname, port } = new URL(service.mqttUrl)
  const env = { ...process.env, DEVICE_ID: id, DEVICE_TOKEN: token, MQTT_HOST: hostname, MQTT_PORT: port }
  const child = spawn(program, args, { cwd: ROOT, env })
  running.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => {
      output += bytes.toString()
    })
  await until(`${id} to connect`, () => output.includes('connected'), 60_000)
  await until('its measurement', async () => {
    const { body } = await admin.get(`/telemetry/${id}`)
    return JSON.stringify(body).includes('21.5')
  })
  const sent = await admin.post(`/commands/${id}`, { command: 'dock', timeout_sec: 60 })
  await until('its answer', async () => {
    const { body } = await admin.get(`/commands/${id}/${sent.body['command_id']}`)
    return body['status'] === 'completed'
  })
  expect(output).toContain('command: dock')
}

test('the sample for Node is a device', async () => {
  await tryOut('js-sample', process.execPath, ['--input-type=module', '-e', sampleIn('js')])
})

test.skipIf(PYTHON === undefined)(
  'the sample for Python is a device',
  async () => {
    await tryOut('py-sample', PYTHON ?? '', ['-u', '-c', sampleIn('python')])
  },
  120_000,
)
