// The ROS 2 bridge between the whole service and a real ROS 2.
import { afterAll, describe, expect } from 'vitest'
import type { RunningCli } from '../cli/testing/cli.ts'
import { BridgeProcesses } from './testing/ros-bridge.ts'
import { ROSBRIDGE_SERVER, RosJazzy } from './testing/ros-jazzy.ts'
import { type Service, until } from './testing/service.ts'
import { historyOf, type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const MISSING = process.env['TEST_SERVER_ROSBRIDGE_SERVER_RS_MISSING'] ?? 'npm test looks for it'
const ID = 'jazzy-1'
const WITHIN_MS = 120_000

const FILE = `
bridges:
  - ros_topic: /battery_state
    mqtt_topic: telemetry/battery
    direction: ros_to_mqtt
    preset: battery
    throttle_hz: 5
  - { ros_topic: /temperature, mqtt_topic: telemetry/temperature, direction: ros_to_mqtt, throttle_hz: 5 }
  - { ros_topic: /diagnostics, mqtt_topic: telemetry, direction: ros_to_mqtt, preset: diagnostics, throttle_hz: 1 }
  - { ros_topic: /heard, mqtt_topic: telemetry/heard, direction: ros_to_mqtt, ros_type: std_msgs/msg/String, timeout_sec: 0 }
  - { ros_topic: /late, mqtt_topic: telemetry/late, direction: ros_to_mqtt, timeout_sec: 0 }
  - { ros_topic: /say, mqtt_topic: command/say, direction: mqtt_to_ros, ros_type: std_msgs/msg/String }
  - { ros_topic: /lights, mqtt_topic: command/lights, direction: mqtt_to_ros, mode: service }
  - { ros_topic: /count, mqtt_topic: command/count, direction: mqtt_to_ros, mode: action, ros_type: test_msgs/action/Fibonacci }
`

const name = ROSBRIDGE_SERVER === undefined ? `ROS 2: ${MISSING}` : 'ROS 2'
describe.skipIf(ROSBRIDGE_SERVER === undefined)(name, () => {
  const bridges = new BridgeProcesses()
  let ros: RosJazzy
  let service: Service
  let admin: Rest
  let bridge: RunningCli
  let hasActions = false
  const startedAt = Date.now()

  test.beforeAll(async ({ service: given }) => {
    service = given
    ros = new RosJazzy(ROSBRIDGE_SERVER ?? '')
    ;[hasActions] = await Promise.all([ros.startRobot(), ros.startServer()])
    admin = await service.admin()
    const token = await registerDevice(admin, ID, { type: 'ros2_robot' })
    const { mqttUrl } = service
    bridge = bridges.begin({ deviceId: ID, token, mqttUrl, rosUrl: ros.url, rest: FILE })
  })
  afterAll(async () => {
    await bridges.close()
    await ros?.close()
  })

  const latest = async () => Object((await admin.get(`/telemetry/${ID}`)).body['data'])
  const order = (command: string, data: object) =>
    admin.post(`/commands/${ID}?wait=30`, { command, data, timeout_sec: 60 })

  /** How many measurements of the battery the service has. */
  const measured = async () => {
    const hour = Math.floor(startedAt / 3_600_000) * 3_600_000
    const about = { metric: 'battery.percent', interval: '1h', from: hour, to: hour + 7_200_000 }
    return (await historyOf(admin, ID, about)).reduce((sum, { count }) => sum + count, 0)
  }

  test('topics become telemetry, without what is not a number, throttled', async () => {
    await until(
      'everything has arrived',
      async () => {
        const { battery, temperature, diagnostics } = await latest()
        return battery !== undefined && temperature !== undefined && diagnostics !== undefined
      },
      WITHIN_MS,
    )
    expect(await latest()).toMatchObject({
      battery: { percent: 50, voltage: 24.5, charging: false },
      temperature: 21.5,
      diagnostics: [{ level: 1, name: 'motor', message: 'warm' }],
    })
    expect((await latest()).battery.current).toBeUndefined()
    // The topic that nobody publishes yet has no type that the server could find.
    await until('the refused subscription is told', () => bridge.output().stderr.includes('type is required'))
  })

  test('a command is published, and another calls a service', async () => {
    // What is said before the robot has discovered the publisher is lost, as ROS has it.
    await until(
      'the robot repeats it',
      async () => {
        expect((await order('say', { data: 'hello' })).body).toMatchObject({ status: 'completed' })
        return (await latest()).heard === 'hello'
      },
      WITHIN_MS,
    )
    const on = await order('lights', { data: true })
    expect(on.body).toMatchObject({ status: 'completed', result: { success: true, message: 'lights' } })
    const wrong = await order('lights', { data: 'bright' })
    expect(wrong.body).toMatchObject({ status: 'failed', error: { code: 'SERVICE_FAILED' } })
  })

  test('a command pursues the goal of an action, and is cancelled with it', async ({ skip }) => {
    if (!hasActions) skip('the package ros-jazzy-test-msgs is not in the environment of ROS')
    const done = await until(
      'the action is there',
      async () => {
        const { body } = await order('count', { order: 7 })
        return body['status'] === 'completed' && body
      },
      WITHIN_MS,
    )
    expect(done).toMatchObject({ result: { sequence: [0, 1, 1, 2, 3, 5, 8] } })
    const none = await order('count', { order: 0 })
    expect(none.body).toMatchObject({ status: 'failed', error: { code: 'ABORTED' } })

    const { body } = await admin.post(`/commands/${ID}`, {
      ...{ command: 'count', data: { order: 1_000_000 }, timeout_sec: 600 },
    })
    const path = `/commands/${ID}/${String(body['command_id'])}`
    await until('the robot counts', async () => (await latest()).heard === 'count to 1000000', WITHIN_MS)
    await admin.call('DELETE', path)
    await until('the robot has given up', async () => (await latest()).heard === 'cancelled', WITHIN_MS)
    expect((await admin.get(path)).body).toMatchObject({ status: 'cancelled' })
  })

  test('after a kill of the server topics flow and commands work again', async () => {
    await ros.killServer()
    await until('the bridge notices', () => bridge.output().stderr.includes('lost the connection to ROS'))
    const refused = await order('lights', { data: true })
    expect(refused.body).toMatchObject({ status: 'failed', error: { code: 'ROS_DISCONNECTED' } })
    const before = await measured()
    await ros.startServer()
    await until('new measurements arrive', async () => (await measured()) > before, WITHIN_MS)
    await until(
      'the service is there',
      async () => (await order('lights', { data: true })).body['status'] === 'completed',
      WITHIN_MS,
    )
  })
})
