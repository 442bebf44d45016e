// Scenarios against a real service: what simulated devices do is what the service sees.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readScenario } from '../../engine/edge/simulator/scenario/read-scenario.ts'
import type { Summary } from '../../engine/edge/simulator/scenario/summary.ts'
import { type Simulation, simulate } from '../../engine/edge/simulator/simulate.ts'
import { openCliHarness } from '../cli/testing/cli.ts'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import type { Rest } from './testing/service-rest.ts'

/** Longer than what is waited for within a test, so that a wait that fails says which it was. */
const LONG_MS = 300_000
const harness = new ServiceHarness()
const cli = openCliHarness()
let service: Service
let admin: Rest

beforeAll(async () => {
  service = await harness.start()
  admin = await service.admin()
})
afterAll(async () => {
  await cli.close()
  await harness.close()
})

/** Each is one of 13 devices. The one that flaps stays for two of its messages: within the first it may only be connecting. */
const FAULTS = `
      - { percent: 7.69, kind: offline, at_sec: 36 }
      - { percent: 7.69, kind: flap, every_sec: 3, down_sec: 1 }
      - { percent: 7.69, kind: half_open, at_sec: 2, for_sec: 2 }
      - { percent: 7.69, kind: slow_reader, every_sec: 1 }
      - { percent: 7.69, kind: duplicate_acks, times: 3 }
      - { percent: 7.69, kind: late_acks, delay_sec: 1 }
      - { percent: 7.69, kind: bad_json, message_percent: 100 }
      - { percent: 7.69, kind: clock_skew, delay_sec: -7200 }
      - { percent: 7.69, kind: stuck }
      - { percent: 7.69, kind: spike, message_percent: 100, times: 1000 }
      - { percent: 7.69, kind: drift, per_min: 6 }
      - { percent: 7.69, kind: dropout, message_percent: 100 }
      - { percent: 7.69, kind: oversize, message_percent: 20 }`

const EVERYTHING = `
name: everything
seed: 5
duration_sec: 40
connect_per_sec: 200
types:
  - type: mqtt_device
    count: 22
    id_prefix: robot
    group: 'sim/robots/{n%2}'
    tags: [simulated]
    keep_alive_sec: 10
    telemetry: { interval_sec: 1, jitter: 0.5, qos: 0, fields: { load: { kind: sine, min: 0, max: 1 }, mode: { kind: enum, values: [a, b] } } }
    commands:
      dock: { ack_ms: 50, run_ms: 200, result: { bay: 3 } }
      lift: { fail_percent: 100 }
      hum: { ignore_percent: 100 }
    shadow: { follow: true, delay_ms: 100 }
    firmware:
      version: 1.0.0
      rate_kib_s: 2000
      install_sec: 0.3
      reboot_sec: 0.3
      behaviours:
        - { percent: 9.1, kind: quiet }
        - { percent: 9.1, kind: reject }
        - { percent: 9.1, kind: download_fail, n: 1 }
        - { percent: 9.1, kind: corrupt }
        - { percent: 9.1, kind: power_cut }
        - { percent: 9.1, kind: wrong_version }
        - { percent: 9.1, kind: liar }
        - { percent: 9.1, kind: already_installed }
        - { percent: 9.1, kind: restart_midway }
        - { percent: 9.1, kind: rollback_self }
  - type: mqtt_device
    count: 20
    id_prefix: sensor
    group: 'sim/sensors'
    via: gateway
    per_gateway: 10
    telemetry: { interval_sec: 2, fields: { humidity: { kind: walk, min: 10, max: 20 }, position: gps, openings: counter } }
    firmware: { version: 1.0.0, download: fake, install_sec: 0.2, reboot_sec: 0.2 }
  - type: micro_ros_mcu
    count: 13
    id_prefix: pump
    group: sim/pumps
    keep_alive_sec: 5
    telemetry: { interval_sec: 1, fields: { flow: 5 } }
    shadow: { follow: false }
    faults: ${FAULTS}
timeline:
  - { at: 3, do: set, type: sensor, percent: 50, field: humidity, value: 99 }
  - { at: 4, do: rate, type: sensor, percent: 50, interval_sec: 0.5 }
  - { at: 4, do: storm, type: pump }
  - { at: 4, do: disconnect, type: sensor, percent: 10 }
  - { at: 6, do: connect, type: sensor, percent: 10 }
  - { at: 7, do: fault, type: sensor, percent: 10, kind: stuck }
  - { at: 38, do: stop, type: sensor, percent: 10 }
expect:
  - { metric: devices, op: '==', value: 55 }
  - { metric: connected, op: '>=', value: 50 }
  - { metric: errors.refused, op: '==', value: 0 }
  - { metric: errors.not_registered, op: '==', value: 0 }
  - { metric: commands.ignored, op: '==', value: 1 }
  - { metric: commands.unknown, op: '==', value: 1 }
  - { metric: ota.rejected, op: '==', value: 2 }
`

function scenarioOf(text: string) {
  const read = readScenario({ text, readFile: () => '' })
  if (read.kind === 'refused') throw new Error(JSON.stringify(read.problems))
  return read.scenario
}

async function command(deviceId: string, name: string, timeoutSec = 120): Promise<string> {
  const sent = await admin.post(`/commands/${deviceId}`, { command: name, timeout_sec: timeoutSec })
  expect(sent.status, sent.text).toBe(202)
  return String(sent.body['command_id'])
}

const statusOf = async (deviceId: string, id: string) => (await admin.get(`/commands/${deviceId}/${id}`)).body

async function deploy(): Promise<string> {
  const form = new FormData()
  form.set('version', '2.0.0')
  form.set('device_type', 'mqtt_device')
  form.set('file', new Blob([Buffer.alloc(100_000, 7)]), 'image.bin')
  const headers = { authorization: `Bearer ${admin.token}` }
  await fetch(`${service.httpUrl}/api/v1/ota/firmware`, { method: 'POST', headers, body: form })
  const made = await admin.post('/ota/deployments', {
    ...{ firmware_version: '2.0.0', target: { type: 'type', value: 'mqtt_device' }, strategy: 'all' },
    ...{ stable_sec: 0, rollback_on_failure: false, retry: { max: 0 }, abort: { min_finished: 1_000 } },
    timeouts: { download_sec: 120, install_sec: 120, reboot_sec: 120, confirm_sec: 5 },
  })
  expect(made.status, made.text).toBe(201)
  return String(made.body['deployment_id'])
}

/** How many jobs ended how. */
async function endsOf(id: string): Promise<Readonly<Record<string, number>>> {
  await until(
    'the deployment ends',
    async () => (await admin.get(`/ota/deployments/${id}`)).body['finished_at'] !== null,
  )
  const { body } = await admin.get(`/ota/deployments/${id}/devices?per_page=200`)
  const ends: Record<string, number> = {}
  // The schema of the answer has tests of its own.
  for (const { status, error } of body['data'] as readonly {
    status: string
    error: { code: string } | null
  }[]) {
    const end = error === null ? status : `${status} ${error.code}`
    ends[end] = (ends[end] ?? 0) + 1
  }
  return ends
}

async function latest(deviceId: string, metric: string): Promise<unknown> {
  const { body } = await admin.get(`/telemetry/${deviceId}`)
  return Reflect.get(Object(body['data']), metric)
}

test('a scenario with every feature does with a real service what it says', {
  timeout: LONG_MS,
}, async () => {
  const { httpUrl, mqttUrl } = service
  const scenario = scenarioOf(EVERYTHING)
  const simulation: Simulation = await simulate({ httpUrl, mqttUrl, token: admin.token ?? '', scenario })
  let summary: Summary
  try {
    await until('all sensors and robots are connected', () => simulation.connected() >= 50)
    await until('the second gateway’s sensors are online', async () => {
      const { body } = await admin.get('/devices?parent_id=sensor-gw-002&status=online')
      return body['total'] === 10
    })
    // Commands, in each of their ways.
    const asked = await Promise.all(['dock', 'lift', 'fly'].map((name) => command('robot-001', name)))
    const [dock = '', lift = '', fly = ''] = asked
    const hum = await command('robot-001', 'hum', 5)
    const pinged = await command('sensor-011', 'ping')
    await until('answers', async () => (await statusOf('robot-001', fly))['status'] === 'failed')
    await until('the dock', async () => (await statusOf('robot-001', dock))['status'] === 'completed')
    expect(await statusOf('robot-001', dock)).toMatchObject({ result: { bay: 3 } })
    expect(await statusOf('robot-001', lift)).toMatchObject({ error: { code: 'SIMULATED_FAILURE' } })
    await until(
      'the answer of a sub-device',
      async () => (await statusOf('sensor-011', pinged))['status'] === 'completed',
    )
    // The shadow of one that follows it.
    await admin.call('PUT', '/shadows/sensor-001/desired', { led: 'on' })
    await until('the sensor follows', async () => {
      const { body } = await admin.get('/shadows/sensor-001')
      return Reflect.get(Object(body['reported']), 'led') === 'on'
    })
    const ends = await endsOf(await deploy())
    expect(ends).toEqual({
      // Two each: those that do well, say nothing, and restart in the middle; and 20 sub-devices.
      succeeded: 26,
      'rejected LOW_BATTERY': 2,
      'failed DOWNLOAD_FAILED': 2,
      'failed CHECKSUM_MISMATCH': 2,
      'failed INSTALL_INTERRUPTED': 2,
      'failed ROLLED_BACK_BY_DEVICE': 2,
      'failed VERSION_MISMATCH': 6,
    })
    await until(
      'what is ignored expires',
      async () => (await statusOf('robot-001', hum))['status'] === 'expired',
    )
    // What the faults of the pumps have left.
    const { body: letters } = await admin.get('/dead-letters?per_page=200')
    const pumps = (letters['data'] as readonly { device_id: string; reason: string }[]).filter(
      ({ device_id: id }) => id.startsWith('pump'),
    )
    expect(new Set(pumps.map(({ reason }) => reason))).toContain('not_json')
    const measured = (prefix: string, count: number, metric: string) =>
      Promise.all(
        Array.from({ length: count }, (_, at) =>
          latest(`${prefix}-${String(at + 1).padStart(3, '0')}`, metric),
        ),
      )
    // One spikes, one drifts, two send nothing that can be used, and the others measure what they should.
    await until('the pumps measure wrongly', async () => {
      const flows = await measured('pump', 13, 'flow')
      const [spikes, drifts, right] = [
        flows.filter((value) => value === 5_000).length,
        flows.filter((value) => Number(value) > 5 && Number(value) < 100).length,
        flows.filter((value) => value === 5).length,
      ]
      return spikes === 1 && drifts === 1 && right === 9
    })
    await until('half of the sensors measure what they were set to', async () => {
      const values = await measured('sensor', 20, 'humidity')
      return values.filter((value) => value === 99).length === 10
    })
    await simulation.over
    summary = await simulation.conclude()
  } finally {
    await simulation.stop()
  }
  expect(summary.expect.filter(({ met }) => !met)).toEqual([])
  expect(summary).toMatchObject({ commands: { received: 5, completed: 2, failed: 1 }, ota: { rejected: 2 } })
  expect(summary.errors['disconnected']).toBeGreaterThan(0)
  expect(summary.p99_ms).toBeGreaterThan(0)
})

const SMALL =
  'duration_sec: 1\ntypes: [{ type: mqtt_device, count: 2, id_prefix: small, telemetry: { interval_sec: 0.1 } }]\n'

async function play(text: string, ...options: readonly string[]) {
  const path = join(harness.newFolder(), 'scenario.yaml')
  writeFileSync(path, text)
  const env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: admin.token ?? '' }
  return cli.run(['simulate', '--scenario', path, ...options], { env })
}

test('an expectation that is not met is exit code 1 and says what it is', async () => {
  // How many connect within the second is up to the machine.
  const met = await play(`${SMALL}expect: [{ metric: connected, op: '<=', value: 2 }]\n`, '--json')
  expect(met).toMatchObject({ code: 0, stdout: expect.stringContaining('"met":true') })
  const unmet = await play(`${SMALL}expect: [{ metric: connected, op: '>', value: 2 }]\n`, '--json')
  const { connected, ...summary } = JSON.parse(unmet.stdout)
  expect(unmet).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`expected connected > 2, but it is ${connected}`),
  })
  expect(summary).toMatchObject({ devices: 2, expect: [{ met: false, actual: connected }] })
})

test('mistakes in a scenario are exit code 2, with the lines', async () => {
  const { code, stderr } = await play('types:\n  - type: mqtt_device\n    cuont: 3\n')
  expect(code).toBe(2)
  // Editors find each mistake, because it has a line of its own.
  expect(stderr).toMatch(/scenario\.yaml:2: types\[0\]\.count is required\n/)
  expect(stderr).toMatch(/^\S+scenario\.yaml:3: types\[0\]\.cuont is not known; did you mean count\?/m)
})

test('the command ends with the reason if the service takes no device', async () => {
  const unknown = await play(SMALL.replace('mqtt_device', 'toaster'))
  expect(unknown).toMatchObject({ code: 1, stdout: '' })
  expect(unknown.stderr).toContain('small-001 /type: must be one of ')
  expect(unknown.stderr).toMatch(/\nfleet: no device was registered; the lines above say why\n$/)
  const env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: 'not-a-token' }
  const stranger = await cli.run(['simulate', '2'], { env })
  expect(stranger).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/fleet: no device was registered; log in as an admin\n$/),
  })
})

test('an address at which no device can connect is reported, and its form is checked', async () => {
  const nobody = await play(SMALL, '--mqtt-url', 'mqtt://127.0.0.1:1')
  expect(nobody.stderr).toContain(
    'no simulated device has connected so far, because nothing takes connections at the MQTT address\n',
  )
  for (const wrong of ['http://127.0.0.1:1', 'localhost:1883', 'mqtt:', 'x'])
    expect(await cli.runHere(['simulate', '--mqtt-url', wrong])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected an address such as mqtt://localhost:1883'),
    })
})
