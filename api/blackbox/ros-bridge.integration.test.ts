// The ROS 2 bridge between the whole service and a small rosbridge server: what ROS says arrives as telemetry, and what the
// service orders is done in ROS.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Running } from '../cli/testing/cli.ts'
import { BridgeProcesses } from './testing/ros-bridge.ts'
import { SmallRosbridge } from './testing/rosbridge.ts'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { historyOf, type Rest, registerDevice } from './testing/service-rest.ts'

const harness = new ServiceHarness()
const bridges = new BridgeProcesses()
let service: Service
let admin: Rest
let ros: SmallRosbridge
let bridge: Running | undefined

beforeAll(async () => {
  service = await harness.start()
  admin = await service.admin()
})
beforeEach(async () => {
  ros = new SmallRosbridge()
  await ros.start()
})
afterEach(async () => {
  bridge?.child.kill('SIGINT')
  await bridge?.ended
  bridge = undefined
  await ros.stop()
})
afterAll(async () => {
  await bridges.close()
  await harness.close()
})

/** Resolves once the device is online and ROS is connected. */
async function begin(deviceId: string, rest: string): Promise<Running> {
  const token = await registerDevice(admin, deviceId, { type: 'ros2_robot' })
  const { mqttUrl } = service
  const file = { deviceId, token, mqttUrl, rosUrl: ros.url, rest }
  bridge = bridges.begin(file)
  const { said } = bridge
  await until(`the bridge connects to both sides: ${said().stderr}`, async () => {
    const { body } = await admin.get(`/devices/${deviceId}`)
    return body['status'] === 'online' && said().stderr.includes('connected to ROS')
  })
  return bridge
}

async function latest(deviceId: string): Promise<Readonly<Record<string, unknown>>> {
  return Object((await admin.get(`/telemetry/${deviceId}`)).body['data'])
}

async function order(deviceId: string, command: string, data: object = {}) {
  return (await admin.post(`/commands/${deviceId}?wait=25`, { command, data })).body
}

const TELEMETRY = `
bridges:
  - { ros_topic: /battery_state, mqtt_topic: telemetry/battery, direction: ros_to_mqtt, preset: battery }
  - { ros_topic: /temperature, mqtt_topic: telemetry/temperature, direction: ros_to_mqtt }
  - { ros_topic: /odom, mqtt_topic: telemetry, direction: ros_to_mqtt, fields: [twist.twist.linear.x] }
`

test('messages of ROS arrive as telemetry with the times of their headers', async () => {
  await begin('ros-telemetry', TELEMETRY)
  expect(ros.sent('subscribe', '/battery_state')).toMatchObject([{ queue_length: 1 }])
  const sec = Math.floor(Date.now() / 1_000) - 3_600
  ros.publish('/battery_state', {
    header: { stamp: { sec, nanosec: 250_000_000 }, frame_id: '' },
    percentage: 0.5,
    voltage: 24.5,
    current: null,
  })
  ros.publish('/temperature', { data: 21.5 })
  ros.publish('/odom', { twist: { twist: { linear: { x: 0.7, y: 0 } } } })
  await until('everything has arrived', async () => {
    const { battery, temperature, twist } = await latest('ros-telemetry')
    return battery !== undefined && temperature !== undefined && twist !== undefined
  })
  expect(await latest('ros-telemetry')).toMatchObject({
    battery: { percent: 50, voltage: 24.5 },
    temperature: 21.5,
    twist: { twist: { linear: { x: 0.7 } } },
  })
  const minute = Math.floor(sec / 60) * 60_000
  await until('the history has the time of the header', async () => {
    const about = { metric: 'battery.percent', interval: '1m', from: minute, to: minute + 60_000 }
    const buckets = await historyOf(admin, 'ros-telemetry', about)
    return buckets.length === 1 && buckets[0]?.last === 50
  })
})

test('after a lost connection everything is advertised and subscribed again', async () => {
  await begin(
    'ros-reconnect',
    `${TELEMETRY}
  - { ros_topic: /say, mqtt_topic: command/say, direction: mqtt_to_ros, ros_type: std_msgs/msg/String }
`,
  )
  await ros.stop()
  await ros.start()
  await until('it is subscribed again', () => ros.sent('subscribe', '/temperature').length === 2)
  expect(ros.sent('advertise', '/say')).toHaveLength(2)
  ros.publish('/temperature', { data: 7 })
  await until('it arrives', async () => (await latest('ros-reconnect'))['temperature'] === 7)
})

test('a subscription that is refused because the topic is not there yet is tried again', async () => {
  ros.on('subscribe', '/temperature', ({ id }, reply) => {
    const isFirst = ros.sent('subscribe', '/temperature').length === 1
    if (isFirst) reply({ op: 'status', level: 'error', msg: 'type is required', id })
  })
  const { said } = await begin('ros-later', TELEMETRY)
  await until('it is tried again', () => ros.sent('subscribe', '/temperature').length === 2)
  expect(said().stderr).toContain('type is required')
})

const COMMANDS = `
bridges:
  - { ros_topic: /cmd, mqtt_topic: command/say, direction: mqtt_to_ros, ros_type: std_msgs/msg/String }
  - { ros_topic: /lights, mqtt_topic: command/lights, direction: mqtt_to_ros, mode: service }
  - { ros_topic: /go, mqtt_topic: command/go, direction: mqtt_to_ros, mode: action, ros_type: nav/action/Go }
`

test('commands are published, call services, and pursue goals of actions', async () => {
  await begin('ros-commands', COMMANDS)
  expect(await order('ros-commands', 'say', { data: 'hello' })).toMatchObject({ status: 'completed' })
  await until('ROS has it', () => ros.sent('publish', '/cmd').length === 1)
  expect(ros.sent('publish', '/cmd')).toMatchObject([{ msg: { data: 'hello' } }])

  ros.on('call_service', '/lights', ({ id, args }, reply) => {
    const isOn = Object(args)['data'] === true
    const values = isOn ? { success: true } : 'the fuse is out'
    reply({ op: 'service_response', id, service: '/lights', values, result: isOn })
  })
  expect(await order('ros-commands', 'lights', { data: true })).toMatchObject({
    ...{ status: 'completed', result: { success: true } },
  })
  expect(await order('ros-commands', 'lights', { data: false })).toMatchObject({
    ...{ status: 'failed', error: { code: 'SERVICE_FAILED', message: 'the fuse is out' } },
  })

  ros.on('send_action_goal', '/go', ({ id }, reply) => {
    reply({ op: 'action_feedback', id, action: '/go', values: { progress: 40 } })
    reply({ op: 'action_result', id, action: '/go', values: { at: 'dock' }, status: 4, result: true })
  })
  const gone = await order('ros-commands', 'go', { to: 'dock' })
  expect(gone).toMatchObject({ status: 'completed', result: { at: 'dock' } })
  expect(ros.sent('send_action_goal', '/go')).toMatchObject([
    { action_type: 'nav/action/Go', args: { to: 'dock' }, feedback: true },
  ])
  ros.on('send_action_goal', '/go', ({ id }, reply) =>
    reply({ op: 'action_result', id, action: '/go', values: {}, status: 6, result: false }),
  )
  expect(await order('ros-commands', 'go')).toMatchObject({ status: 'failed', error: { code: 'ABORTED' } })
  expect(await order('ros-commands', 'fly')).toMatchObject({
    ...{ status: 'rejected', error: { code: 'UNKNOWN_COMMAND' } },
  })
})

test('a goal tells its progress, and is cancelled with its command', async () => {
  await begin('ros-cancel', COMMANDS)
  ros.on('send_action_goal', '/go', ({ id }, reply) =>
    reply({ op: 'action_feedback', id, action: '/go', values: { progress: 40 } }),
  )
  const { body } = await admin.post('/commands/ros-cancel', { command: 'go', timeout_sec: 600 })
  const path = `/commands/ros-cancel/${String(body['command_id'])}`
  await until('progress is told', async () => (await admin.get(path)).body['progress'] === 40)
  await admin.call('DELETE', path)
  await until('ROS is told', () => ros.sent('cancel_action_goal', '/go').length === 1)
  expect((await admin.get(path)).body).toMatchObject({ status: 'cancelled' })
})

test('a call that ROS does not answer fails in the time of its command', async () => {
  await begin('ros-silent', COMMANDS)
  const sent = await admin.post('/commands/ros-silent?wait=25', { command: 'lights', timeout_sec: 1 })
  const path = `/commands/ros-silent/${String(sent.body['command_id'])}`
  await until('it has failed', async () => {
    const { body } = await admin.get(path)
    return body['status'] === 'failed' && Object(body['error'])['code'] === 'TIMEOUT'
  })
})
