// The samples of the guide for devices, run as they stand there.
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect } from 'vitest'
import { PROFILE, type Service, ServiceHarness, until } from './testing/service.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const PYTHON = process.env['TEST_SERVER_PYTHON_WITH_PAHO']
const ROOT = new URL('../../', import.meta.url)
const GUIDE = readFileSync(new URL('api/DEVICES.md', ROOT), 'utf8')
const [INTRODUCTION = '', SAMPLES = ''] = GUIDE.split('\n## Samples\n')
const HAS_MOSQUITTO = spawnSync('mosquitto_pub', ['--version']).error === undefined

const harness = new ServiceHarness()
const running: ChildProcess[] = []
let service: Service
let admin: Rest

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
})
afterAll(async () => {
  for (const child of running) child.kill()
  await harness.close()
})

/** The first code block of this language that has a text in it. */
function sampleIn(language: string, text = '', page = SAMPLES): string {
  const blocks = page.split(`\`\`\`${language}\n`).slice(1)
  return blocks.map((block) => block.split('\n```')[0] ?? '').find((block) => block.includes(text)) ?? ''
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
  await until(`${id} to connect`, () => output.includes('connected'))
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

test.skipIf(PYTHON === undefined)('the sample for Python is a device', async () => {
  await tryOut('py-sample', PYTHON ?? '', ['-u', '-c', sampleIn('python')])
})

describe('lines for a shell and programs that register themselves', () => {
  const run = promisify(execFile)

  /** What a sample finds in its environment. The variables of the page come first, as a reader has them. */
  const environment = (more: NodeJS.ProcessEnv) => {
    const { port } = new URL(service.mqttUrl)
    const address = { FLEET_CLI_URL: service.httpUrl, FLEET_MQTT_PORT: port, MQTT_PORT: port }
    return { ...process.env, ...address, ...more }
  }
  async function runLines(lines: string, more: NodeJS.ProcessEnv): Promise<string> {
    const script = `${sampleIn('bash', 'MQTT_PORT=', GUIDE)}\n${lines}`
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { env: environment(more) })
    return stdout
  }
  /** The page speaks of robot-7 throughout, and each of these is a device of its own. */
  const as = (id: string, sample: string) => {
    expect(sample).toContain('robot-7')
    return sample.replaceAll('robot-7', id)
  }
  async function newKey(): Promise<string> {
    const wish = { type: 'mqtt_device', limit: 1, id_pattern: 'guide-*' }
    return String((await admin.post('/auth/provisioning-keys', wish)).body['key'])
  }
  const isKnown = async (id: string) => (await admin.get(`/devices/${id}`)).status === 200

  test('a token is renewed', async () => {
    const token = await registerDevice(admin, 'guide-renews')
    const answer = JSON.parse(await runLines(sampleIn('bash', 'token/renew', GUIDE), { DEVICE_TOKEN: token }))
    expect(answer).toMatchObject({ device_id: 'guide-renews', mqtt_token: expect.stringContaining('eyJ') })
  })

  test('a device registers itself over REST', async () => {
    const lines = as('guide-rest', sampleIn('bash', 'auth/provision"', GUIDE))
    const answer = JSON.parse(await runLines(lines, { KEY: await newKey() }))
    expect(answer).toMatchObject({ device_id: 'guide-rest', mqtt_token: expect.stringContaining('eyJ') })
  })

  // EMQX knows no provisioning keys.
  const hasRr = HAS_MOSQUITTO && PROFILE !== 'cluster'
  test.skipIf(!hasRr)('a device registers itself with mosquitto_rr', async () => {
    const lines = as('guide-rr', sampleIn('bash', 'mosquitto_rr -V', GUIDE))
    const answer = JSON.parse(await runLines(lines, { KEY: await newKey() }))
    expect(answer).toMatchObject({ device_id: 'guide-rr', mqtt_token: expect.stringContaining('eyJ') })
  })

  test.skipIf(PYTHON === undefined || PROFILE === 'cluster')(
    'a device registers itself with a program in Python, which keeps the token',
    async () => {
      const cwd = harness.newFolder()
      const program = as('guide-py', sampleIn('python', 'provision/get', INTRODUCTION))
      const env = environment({ KEY: await newKey() })
      const { stdout } = await run(PYTHON ?? '', ['-u', '-c', program], { cwd, env })
      expect(stdout).toBe('fleet/guide-py/provision/accepted registered\n')
      expect(readFileSync(join(cwd, 'token'), 'utf8')).toMatch(/^eyJ/)
    },
  )

  test('a device of the library registers itself, and connects', async () => {
    const cwd = harness.newFolder()
    mkdirSync(join(cwd, 'node_modules'))
    symlinkSync(fileURLToPath(ROOT), join(cwd, 'node_modules', 'fleet'))
    const program = as('guide-js', sampleIn('js', 'provision', INTRODUCTION))
    const ending = "await device.connect(); console.log('connected'); await device.close()"
    const args = ['--input-type=module', '-e', `${program}\n${ending}`]
    const { stdout } = await run(process.execPath, args, { cwd, env: environment({ KEY: await newKey() }) })
    expect(stdout).toBe('connected\n')
    expect(await isKnown('guide-js')).toBe(true)
  })

  test.skipIf(!HAS_MOSQUITTO)('mosquitto_pub and mosquitto_sub are a device for a moment', async () => {
    const token = await registerDevice(admin, 'guide-shell')
    const lines = as('guide-shell', sampleIn('bash', 'mosquitto_sub', GUIDE)).split('\n')
    const line = (name: string) => lines.find((each) => each.startsWith(name)) ?? ''
    await runLines(line('mosquitto_pub'), { DEVICE_TOKEN: token })
    await until('its measurement', async () =>
      (await admin.get('/telemetry/guide-shell')).text.includes('21.5'),
    )
    const script = `${sampleIn('bash', 'MQTT_PORT=', GUIDE)}\nexec ${line('mosquitto_sub')}`
    const listener = spawn('bash', ['-euo', 'pipefail', '-c', script], {
      env: environment({ DEVICE_TOKEN: token }),
    })
    running.push(listener)
    let heard = ''
    listener.stdout.on('data', (bytes: Buffer) => {
      heard += bytes.toString()
    })
    await admin.post('/commands/guide-shell', { command: 'dock', timeout_sec: 600 })
    await until('the command', () => heard.includes('"command":"dock"'))
  })
})
