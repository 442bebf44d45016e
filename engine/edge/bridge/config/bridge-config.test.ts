import { expect, test } from 'vitest'
import { readEntries } from '../testing/routes.ts'
import { readBridgeConfig } from './bridge-config.ts'

const MINIMAL = `
device_id: robot-7
mqtt: { host: fleet.example.com, token: secret }
bridges:
  - ros_topic: /battery_state
    mqtt_topic: telemetry/battery
    direction: ros_to_mqtt
`

function problemsOf(text: string, environment: Readonly<Record<string, string>> = {}) {
  const read = readBridgeConfig(text, environment)
  if (read.kind === 'read') return []
  return read.problems.map(({ line, path, message }) => `${line}: ${path} ${message}`)
}

test('a minimal file gets defaults for everything else', () => {
  expect(readBridgeConfig(MINIMAL, {})).toMatchObject({
    kind: 'read',
    config: {
      deviceId: 'robot-7',
      mqtt: { url: 'mqtt://fleet.example.com:1883', keepaliveSec: 60, token: 'secret' },
      ros: { url: 'ws://127.0.0.1:9090', connectTimeoutMs: 10_000 },
      buffer: { path: undefined, bytesMax: 67_108_864, ageMsMax: 86_400_000, drainHz: 50 },
      uplinks: [
        {
          ...{
            name: 'battery_state',
            rosTopic: '/battery_state',
            to: { kind: 'telemetry', name: 'battery' },
          },
          ...{ qos: 1, throttleMs: 0, timeoutMs: 30_000, timestamp: 'header', bytesMax: 65_536 },
        },
      ],
      downlinks: [],
    },
  })
})

test('all mistakes are reported at once, with their lines', () => {
  const text = `
device_id: robot 7
mqtt: { host: h, port: 70000, token: t }
bridges:
  - ros_topic: /scan
    mqtt_topic: telemetry/scan
    direction: ros_to_mqtt
    throttle_hertz: 5
    qos: 3
  - { ros_topic: /a, mqtt_topic: fleet/other/telemetry, direction: ros_to_mqtt }
  - { ros_topic: /b, mqtt_topic: command/b, direction: mqtt_to_ros }
  - { ros_topic: /c, mqtt_topic: status, direction: ros_to_mqtt }
buffers: {}
`
  expect(problemsOf(text)).toEqual([
    expect.stringMatching(/^2: device_id must be 1 to 64 letters/),
    '3: mqtt.port must be a whole number from 1 to 65535',
    '9: bridges[0].qos must be one of 0, 1, 2',
    expect.stringMatching(/^8: bridges\[0\]\.throttle_hertz is not known; did you mean throttle_hz\?/),
    expect.stringMatching(/^10: bridges\[1\]\.mqtt_topic must be relative to fleet\/robot 7\/ or below it/),
    expect.stringMatching(/^10: bridges\[1\]\.mqtt_topic must be telemetry/),
    '11: bridges[2].ros_type is required for mode topic',
    expect.stringMatching(/^12: bridges\[3\]\.mqtt_topic must be telemetry/),
    expect.stringMatching(/^13: buffers is not known; did you mean buffer\?/),
  ])
})

test.each([
  ['a text that is not YAML', 'a: [', /^1: /],
  ['an alias', 'a: &x 1\nb: *x', /^2:\s+contains an alias/],
  ['a list instead of a mapping', '- a', /must be a mapping/],
  ['no bridges', 'device_id: a\nmqtt: { host: h, token: t }', /bridges must be a list of 1 to 200/],
])('%s is refused', (_, text, problem) => {
  expect(problemsOf(text).join('\n')).toMatch(problem)
})

test('a value may come from an environment variable, which must be set', () => {
  const text = MINIMAL.replace('secret', `'\${TOKEN}'`)
  expect(readBridgeConfig(text, { TOKEN: 'abc' })).toMatchObject({ config: { mqtt: { token: 'abc' } } })
  expect(problemsOf(text)).toEqual(['3: mqtt.token needs the environment variable TOKEN, which is not set'])
})

test('a token or a certificate is required, and a certificate needs its files', () => {
  expect(problemsOf(MINIMAL.replace(', token: secret', ''))).toEqual([
    '3: mqtt.token is required unless token_file contains the token of the device',
  ])
  const text = `${MINIMAL}connection: { auth: { method: certificate } }\n`
  expect(problemsOf(text)).toEqual([
    '8: connection.auth.method certificate needs tls.enabled, tls.client_cert and tls.client_key',
  ])
  const tls = `${MINIMAL}connection: { tls: { enabled: true, ca_cert: /nowhere/ca.crt } }\n`
  expect(problemsOf(tls)).toEqual([
    '8: connection.tls.ca_cert names the file /nowhere/ca.crt, which cannot be read (ENOENT)',
  ])
})

test('TLS changes the default port and the scheme', () => {
  const text = `${MINIMAL}connection: { keep_alive_sec: 30, tls: { enabled: true } }\n`
  expect(readBridgeConfig(text, {})).toMatchObject({
    config: { mqtt: { url: 'mqtts://fleet.example.com:8883', keepaliveSec: 30 } },
  })
})

test('an install command needs a way to know the running version', () => {
  const ota = 'ota: { command: [install] }\n'
  expect(problemsOf(`${MINIMAL}${ota}`).join()).toMatch(/^8: ota\.command needs firmware_version_file/)
  expect(problemsOf(`${MINIMAL}firmware_version: 1.0.0\n${ota}`)).toEqual([])
  expect(problemsOf(`${MINIMAL}firmware_version_file: /etc/version\n${ota}`)).toEqual([])
})

test('a key that belongs to the other direction is refused as such', () => {
  const up = 'ros_topic: /a, mqtt_topic: telemetry, direction: ros_to_mqtt, latch: true'
  const down =
    'ros_topic: /b, ros_type: a/B, mqtt_topic: command/b, direction: mqtt_to_ros, throttle_hz: 5, lach: true'
  expect(readEntries(up, down)).toMatchObject({
    problems: [
      { path: 'bridges[0].latch', message: 'is allowed only for direction mqtt_to_ros' },
      { path: 'bridges[1].throttle_hz', message: 'is allowed only for direction ros_to_mqtt' },
      { path: 'bridges[1].lach', message: expect.stringContaining('did you mean latch?') },
    ],
  })
})

test('a command has at most one route', () => {
  const entry = 'ros_topic: /a, mqtt_topic: command/go, direction: mqtt_to_ros, mode: service'
  expect(readEntries(entry, entry)).toMatchObject({
    problems: [{ message: 'command/go already has a route' }],
  })
})

test('routes that would have the same name get different names', () => {
  const entry = 'ros_topic: /arm/state, mqtt_topic: telemetry, direction: ros_to_mqtt'
  expect(readEntries(entry, entry)).toMatchObject({
    config: { uplinks: [{ name: 'arm_state' }, { name: 'arm_state_2' }] },
  })
})
