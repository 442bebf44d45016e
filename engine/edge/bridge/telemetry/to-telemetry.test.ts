import { expect, test } from 'vitest'
import type { JsonObject } from '../../../../schemas/json.ts'
import { uplinkRoute } from '../testing/routes.ts'
import { convert } from './to-telemetry.ts'

const NOW = Date.UTC(2026, 0, 1)
const AT = '2026-01-01T00:00:00.000Z'

function converted(about: string, message: JsonObject) {
  return convert(uplinkRoute(`ros_topic: /x/y, direction: ros_to_mqtt, ${about}`), message, NOW * 1_000)
}

test('a message is converted to its fields, with the header time to the microsecond', () => {
  const header = { stamp: { sec: 1_700_000_000, nanosec: 123_456_789 }, frame_id: 'base' }
  expect(converted('mqtt_topic: telemetry/imu', { header, accel: { x: 1, y: null } })).toEqual({
    suffix: 'telemetry/imu',
    body: { accel: { x: 1 }, timestamp: '2023-11-14T22:13:20.123456Z' },
  })
})

test.each([
  ['a stamp of zero', { stamp: { sec: 0, nanosec: 0 } }],
  ['no header', undefined],
  ['an invalid stamp', { stamp: 'now' }],
])('with %s the time of receipt is used', (_, header) => {
  const message = header === undefined ? { x: 1 } : { header, x: 1 }
  expect(converted('mqtt_topic: telemetry', message)?.body).toEqual({ x: 1, timestamp: AT })
})

test('a route may choose the time of receipt', () => {
  const message = { header: { stamp: { sec: 1_700_000_000, nanosec: 0 } }, x: 1 }
  expect(converted('mqtt_topic: telemetry, timestamp: receive', message)?.body['timestamp']).toBe(AT)
})

test('a message of std_msgs becomes a scalar that is named after its topic', () => {
  const expected = { suffix: 'telemetry', body: { speed: 1.5, timestamp: AT } }
  expect(converted('mqtt_topic: telemetry/speed', { data: 1.5 })).toEqual(expected)
  expect(converted('mqtt_topic: telemetry', { data: true })?.body).toEqual({ x_y: true, timestamp: AT })
})

test('selected fields keep their paths', () => {
  const about = 'mqtt_topic: telemetry, fields: [pose.x, pose.y, joints.1, gone.z, pose.x.w, twist.x, twist]'
  const message = {
    pose: { x: 1, y: 2, z: 3 },
    joints: [4, 5],
    gone: { a: 1 },
    twist: { x: 1, y: 2 },
    other: 6,
  }
  const expected = { pose: { x: 1, y: 2 }, joints: { 1: 5 }, twist: { x: 1, y: 2 } }
  expect(converted(about, message)?.body).toEqual({ ...expected, timestamp: AT })
})

test('null values, binary data and messages of nothing else are left out', () => {
  expect(converted('mqtt_topic: telemetry', { a: null, b: { c: null } })).toBeUndefined()
  expect(converted('mqtt_topic: telemetry', { data: 'QUJD'.repeat(100) })).toBeUndefined()
  expect(converted('mqtt_topic: telemetry', { width: 2, data: Array(100).fill(7) })?.body).toEqual({
    ...{ width: 2, timestamp: AT },
  })
  let deep: JsonObject = { x: 1 }
  for (let level = 0; level < 5_000; level++) deep = { deep }
  expect(converted('mqtt_topic: telemetry', { deep, y: 1 })?.body).toEqual({ y: 1, timestamp: AT })
})

test('objects in lists lose their null values, and numbers in lists keep their places', () => {
  const message = {
    points: [
      { x: 1, y: null },
      { x: 2, y: 3 },
    ],
    ranges: [1, null, 2],
    gone: [null, null],
  }
  expect(converted('mqtt_topic: telemetry', message)?.body).toEqual({
    ...{ points: [{ x: 1 }, { x: 2, y: 3 }], ranges: [1, null, 2], timestamp: AT },
  })
})

test.each([
  [
    'battery',
    { percentage: 0.5, voltage: 24.5, current: null, power_supply_status: 1 },
    { percent: 50, voltage: 24.5, charging: true },
  ],
  [
    'odom',
    {
      pose: { pose: { position: { x: 1, y: 2, z: 0 }, orientation: { x: 0, y: 0, z: 1, w: 0 } } },
      twist: { twist: { linear: { x: 0.5 }, angular: { z: 0.1 } } },
    },
    { position: { x: 1, y: 2, z: 0 }, heading: Math.PI, speed: 0.5, turn_rate: 0.1 },
  ],
  [
    'pose',
    { header: {}, pose: { position: { x: 1, y: 2, z: 3 }, orientation: { x: 0, y: 0, z: 0, w: 1 } } },
    { position: { x: 1, y: 2, z: 3 }, heading: 0 },
  ],
  [
    'navsat',
    { latitude: 52.5, longitude: 13.4, altitude: 34, status: { status: 0, service: 1 } },
    { latitude: 52.5, longitude: 13.4, altitude: 34, fix: 0 },
  ],
  [
    'joint_state',
    { name: ['elbow', 'wrist'], position: [0.1, 0.2], velocity: [1], effort: [] },
    { elbow: { position: 0.1, velocity: 1 }, wrist: { position: 0.2 } },
  ],
])('the preset %s selects the useful fields', (preset, message, expected) => {
  const body = converted(`mqtt_topic: telemetry/name, preset: ${preset}`, message)?.body
  expect(body).toEqual({ ...expected, timestamp: AT })
  const whole = converted(`mqtt_topic: telemetry, preset: ${preset}`, message)?.body
  expect(whole).toEqual({ [preset]: expected, timestamp: AT })
})

test.each([
  ['a number', 2],
  ['a character', '\u0002'],
  ['Base64', 'Ag=='],
])('diagnostics have numeric levels if the server sends a byte as %s', (_, level) => {
  const message = { status: [{ level, name: 'motor', message: 'hot', hardware_id: 'm', values: [] }] }
  expect(converted('mqtt_topic: telemetry/diagnostics, preset: diagnostics', message)).toEqual({
    suffix: 'telemetry',
    body: { diagnostics: [{ level: 2, name: 'motor', message: 'hot' }], timestamp: AT },
  })
})

test.each(['telemetry', 'telemetry/diagnostics'])('a DiagnosticArray on %s needs no preset', (topic) => {
  const about = `mqtt_topic: ${topic}, ros_type: diagnostic_msgs/msg/DiagnosticArray`
  const status = [{ level: 3, name: 'motor', message: 'hot', hardware_id: 'm', values: [] }]
  const diagnostics = [{ level: 3, name: 'motor', message: 'hot' }]
  expect(converted(about, { status })?.body).toEqual({ diagnostics, timestamp: AT })
  expect(converted(`${about}, fields: [status.0.level]`, { status })?.body).not.toHaveProperty(
    'diagnostics.0',
  )
})

test('log messages of ROS become log lines', () => {
  const message = { stamp: { sec: 1_700_000_000, nanosec: 0 }, level: 30, name: 'nav', msg: 'slow', line: 3 }
  expect(converted('mqtt_topic: log', message)).toEqual({
    suffix: 'log',
    body: { level: 30, message: 'slow', logger: 'nav', timestamp: '2023-11-14T22:13:20.000000Z' },
  })
  expect(converted('mqtt_topic: log', { x: 1 })).toBeUndefined()
})

test('the state of a robot is an object, or JSON in a text', () => {
  const about = 'mqtt_topic: shadow/reported'
  const patch = { suffix: 'shadow/reported', body: { led: 'on' } }
  expect(converted(about, { led: 'on' })).toEqual(patch)
  expect(converted(about, { data: '{"led":"on"}' })).toEqual(patch)
  expect(converted(about, { data: 'no JSON' })).toBeUndefined()
})
