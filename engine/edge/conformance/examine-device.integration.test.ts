// Tests the kit with devices of this project, which meet all requirements, and with devices that each violate one.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Examination, examineDevice } from './device/examine-device.ts'
import type { Report } from './report.ts'

const BUILT = new URL('../../../dist/engine/edge/conformance/testing/', import.meta.url)
const program = (name: string, args = '') =>
  `exec "${process.execPath}" "${fileURLToPath(new URL(name, BUILT))}" ${args}`

/** The Python device has the heartbeat and the keep-alive of a real device, which take long. */
const PYTHON_MS = 400_000

function examine(run: string, over: Partial<Examination> = {}): Promise<Report> {
  return examineDevice({
    ...{ deviceId: 'my-device', run, port: 0, profile: 'full', only: [] },
    ...{ environment: process.env, deviceType: 'conformance' },
    ...{ command: 'ping', slowCommand: { command: 'wait', data: { sec: 1 } } },
    field: { name: 'conformance', values: [1, 2, 3] },
    // Waits whose length the kit chooses take a tenth of the time.
    pace: 0.1,
    signal: AbortSignal.timeout(100_000),
    ...over,
  })
}

/** Lists the checks that did not pass. OTA-18 has nothing to judge, because these devices never defer an update. */
const wrong = ({ checks }: Report) =>
  checks
    .filter(({ id, result }) => result !== 'pass' && id !== 'OTA-18')
    .map(({ id, reason }) => [id, reason])

test('a device with the device library passes all checks', async () => {
  const report = await examine(program('device.js', '--heartbeat 1 --keepalive 2'))
  expect(wrong(report)).toEqual([])
})

test('a simulated device passes the checks that need neither a disk nor firmware', async () => {
  const only = ['CONN', 'TEL', 'CMD', 'SHD']
  const about = { deviceId: 'one-001', only, slowCommand: undefined }
  const report = await examine(program('simulated-device.js'), about)
  const judged = ({ id, result }: Report['checks'][number]) =>
    result !== 'skipped' && id !== 'CMD-04' ? [[id, result]] : []
  expect(report.checks.flatMap(judged).filter(([, result]) => result !== 'pass')).toEqual([])
})

test('a program that cannot start fails every check without being waited for in each, with what it wrote', async () => {
  const begun = performance.now()
  const { checks } = await examine('echo no such module >&2; exit 1', { profile: 'basic' })
  expect(new Set(checks.map(({ result, reason }) => `${result}: ${reason}`))).toEqual(
    new Set([expect.stringMatching(/^fail: the program ends without connecting; .*no such module/)]),
  )
  expect(performance.now() - begun).toBeLessThan(120_000)
})

test('the kit waits for a device whose shell exits before the device does', async () => {
  const run = `${program('device.js').replace('exec ', '')}; exit`
  const report = await examine(run, { only: ['CONN-08'] })
  expect(report.checks.map(({ id, result }) => [id, result])).toEqual([['CONN-08', 'pass']])
})

const HAS_MOSQUITTO = spawnSync('mosquitto_pub', ['--version']).error === undefined

test.skipIf(!HAS_MOSQUITTO)('the shell commands in the documentation pass the profile basic', async () => {
  const lineOf = (page: string, name: string) => {
    const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8')
    const [line = ''] = new RegExp(String.raw`^${name} (?:.*\\\n)*.*`, 'm').exec(text) ?? []
    expect(line).toContain(name)
    return line.replaceAll('robot-7', 'thermo-1')
  }
  const [port, token] = [`\${FLEET_MQTT_URL##*:}`, '$FLEET_DEVICE_TOKEN']
  const pub = lineOf('README.md', 'mosquitto_pub')
  const run = `MQTT_PORT=${port} DEVICE_TOKEN=${token}; ${pub}; exec ${lineOf('api/DEVICES.md', 'mosquitto_sub')}`
  const report = await examine(run, { deviceId: 'thermo-1', profile: 'basic' })
  expect(wrong(report)).toEqual([])
  expect(report.passed).toBe(7)
})

const PYTHON = process.env['TEST_SERVER_PYTHON_WITH_PAHO']

test.skipIf(PYTHON === undefined)(
  'the Python example passes all checks except those of log lines and manifests',
  async () => {
    const path = fileURLToPath(new URL('../examples/python/device.py', import.meta.url))
    const environment = { ...process.env, FLEET_TELEMETRY_SEC: '0.2' }
    const signal = AbortSignal.timeout(PYTHON_MS)
    const report = await examine(`exec "${PYTHON}" "${path}"`, { environment, signal })
    expect(wrong(report)).toEqual([
      ['LOG-01', 'the device sent no log line'],
      ['OTA-15', 'the device does not check manifests'],
    ])
  },
  PYTHON_MS,
)

/** The faults of the broken device, with the checks that must detect each. */
const FAULTS: Readonly<Record<string, readonly string[]>> = {
  'wrong-client-id': ['CONN-01'],
  'unretained-will': ['CONN-02'],
  'constant-session-id': ['CONN-04'],
  'no-backoff': ['CONN-06'],
  'no-offline-message': ['CONN-08'],
  'retained-telemetry': ['CONN-12'],
  'missing-resubscription': ['CONN-13'],
  'local-time': ['TEL-02'],
  'repeated-execution': ['CMD-03', 'CMD-04'],
  'lost-answers': ['CMD-04'],
  'expired-execution': ['CMD-05'],
  'unknown-accepted': ['CMD-06'],
  'exit-on-bad-json': ['CMD-08'],
  'ignored-version': ['SHD-03', 'SHD-07'],
}
const TRIED = [...new Set(Object.values(FAULTS).flat())]

test('a correct device without the device library passes the same checks', async () => {
  const report = await examine(program('broken-device.js'), { only: TRIED, slowCommand: undefined })
  expect(wrong(report)).toEqual([])
})

test.concurrent.each(Object.entries(FAULTS))(
  'a device with the fault %s fails only the checks that detect it',
  async (fault, ids) => {
    // These checks must fail, and one check of each other area must pass.
    const only = [...ids, 'CONN-03', 'CMD-02', 'SHD-02']
    const report = await examine(program('broken-device.js', `--fault ${fault}`), { only })
    expect(wrong(report).map(([id]) => id)).toEqual(ids)
    expect(report.failed).toBe(ids.length)
  },
)
