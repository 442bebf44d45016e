// The ROS 2 bridge between the whole service and a small rosbridge server: what ROS says arrives as telemetry, and what the
// service orders is done in ROS.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect } from 'vitest'
import type { RunningCli } from '../cli/testing/cli.ts'
import { BridgeProcesses } from './testing/ros-bridge.ts'
import { SmallRosbridge } from './testing/rosbridge.ts'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { historyOf, type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

/** A process is started for it. */
const CONNECTED_MS = 90_000

const harness = new ServiceHarness()
const bridges = new BridgeProcesses()
let service: Service
let admin: Rest
let ros: SmallRosbridge
let bridge: RunningCli | undefined

test.beforeAll(async ({ service: given }) => {
  service = given
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

/** Resolves once the device was heard and ROS is connected. */
async function begin(deviceId: string, rest: string): Promise<RunningCli> {
  const token = await registerDevice(admin, deviceId, { type: 'ros2_robot' })
  const { mqttUrl } = service
  const file = { deviceId, token, mqttUrl, rosUrl: ros.url, rest }
  bridge = bridges.begin(file)
  const { output } = bridge
  const isConnected = async () => {
    const { body } = await admin.get(`/devices/${deviceId}`)
    // A topic that is silent may be a fault of the device before anybody looks.
    return (
      ['online', 'error'].includes(String(body['status'])) && output().stderr.includes('connected to ROS')
    )
  }
  await until('the bridge connects to both sides', isConnected, CONNECTED_MS)
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
  // The bridge may have said that it is connected before the test has read what it asks for.
  await until('it is subscribed', () => ros.sent('subscribe', '/battery_state').length > 0)
  expect(ros.sent('subscribe', '/battery_state')[0]).toMatchObject({ queue_length: 1 })
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
  await until('it is subscribed again', () => ros.sent('subscribe', '/temperature').length > 1)
  expect(ros.sent('advertise', '/say').length).toBeGreaterThan(1)
  ros.publish('/temperature', { data: 7 })
  await until('it arrives', async () => (await latest('ros-reconnect'))['temperature'] === 7)
})

test('a subscription that is refused because the topic is not there yet is tried again', async () => {
  ros.on('subscribe', '/temperature', ({ id }, reply) => {
    const isFirst = ros.sent('subscribe', '/temperature').length === 1
    if (isFirst) reply({ op: 'status', level: 'error', msg: 'type is required', id })
  })
  const { output } = await begin('ros-later', TELEMETRY)
  await until('it is tried again', () => ros.sent('subscribe', '/temperature').length > 1)
  expect(output().stderr).toContain('type is required')
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
  // A bridge on a busy machine has the command before its time is over.
  const sent = await admin.post('/commands/ros-silent?wait=25', { command: 'lights', timeout_sec: 10 })
  const path = `/commands/ros-silent/${String(sent.body['command_id'])}`
  await until('it has failed', async () => {
    const { body } = await admin.get(path)
    return body['status'] === 'failed' && Object(body['error'])['code'] === 'TIMEOUT'
  })
})

test('what ROS says while the service is away is kept on disk, over a kill of the bridge, and arrives with its times', async () => {
  const buffer = harness.newFolder()
  const token = await registerDevice(admin, 'ros-buffer', { type: 'ros2_robot' })
  const rest = `${TELEMETRY}buffer: { path: ${buffer} }\n`
  const file = { deviceId: 'ros-buffer', token, mqttUrl: service.mqttUrl, rosUrl: ros.url, rest }
  const since = Math.floor(Date.now() / 60_000) * 60 - 3_600
  const measure = (second: number) =>
    ros.publish('/battery_state', {
      header: { stamp: { sec: since + second, nanosec: 0 } },
      percentage: second / 100,
    })
  const kept = () =>
    readdirSync(join(buffer, 'messages')).map((name) => readFileSync(join(buffer, 'messages', name), 'utf8'))
  service.signalAll('SIGKILL')
  await service.ended
  bridge = bridges.begin(file)
  await until('ROS is connected', () => bridge?.output().stderr.includes('connected to ROS'))
  for (let second = 0; second < 30; second++) measure(second)
  await until('they are on disk', () => kept().join('').split('"percent"').length === 31)
  bridge.child.kill('SIGKILL')
  await bridge.ended
  bridge = bridges.begin(file)
  await until('ROS is connected again', () => bridge?.output().stderr.includes('connected to ROS'))
  for (let second = 30; second < 40; second++) measure(second)
  service = await service.again()
  admin = await service.admin()
  await until('everything has arrived', async () => {
    const about = {
      metric: 'battery.percent',
      interval: '1m',
      from: since * 1_000,
      to: since * 1_000 + 60_000,
    }
    const [bucket] = await historyOf(admin, 'ros-buffer', about)
    return bucket?.count === 40 && bucket.min === 0 && bucket.max === 39
  })
  await until('nothing is kept any more', () => kept().length === 0)
})

test('firmware is installed by the program of the robot, and the version in its file completes the deployment', async () => {
  const folder = harness.newFolder()
  const versionFile = join(folder, 'version')
  writeFileSync(versionFile, '1.0.0\n')
  const program = join(folder, 'install.mjs')
  writeFileSync(
    program,
    `import { copyFileSync, writeFileSync } from 'node:fs'
     copyFileSync(process.argv[2], ${JSON.stringify(join(folder, 'installed'))})
     writeFileSync(${JSON.stringify(versionFile)}, '2.0.0')`,
  )
  const form = new FormData()
  form.set('version', '2.0.0')
  form.set('device_type', 'ros2_robot')
  form.set('file', new Blob(['the image of 2.0.0']), 'robot.bin')
  const headers = { authorization: `Bearer ${admin.token}` }
  await fetch(`${service.httpUrl}/api/v1/ota/firmware`, { method: 'POST', headers, body: form })
  await begin(
    'ros-firmware',
    `${TELEMETRY}firmware_version_file: ${versionFile}\nota: { command: ['${process.execPath}', '${program}'] }\n`,
  )
  const created = await admin.post('/ota/deployments', {
    ...{ firmware_version: '2.0.0', device_type: 'ros2_robot', stable_sec: 0 },
    target: { type: 'device', value: 'ros-firmware' },
  })
  const path = `/ota/deployments/${String(created.body['deployment_id'])}`
  await until('it is completed', async () => (await admin.get(path)).body['status'] === 'completed')
  expect(readFileSync(join(folder, 'installed'), 'utf8')).toBe('the image of 2.0.0')
  expect((await admin.get('/devices/ros-firmware')).body).toMatchObject({ firmware_version: '2.0.0' })
})

test('what is desired is applied by a service, and reported', async () => {
  ros.on('call_service', '/configure', ({ id }, reply) =>
    reply({ op: 'service_response', id, service: '/configure', values: {}, result: true }),
  )
  await begin(
    'ros-shadow',
    `bridges:
  - { ros_topic: /configure, mqtt_topic: shadow/desired, direction: mqtt_to_ros, mode: service }
  - { ros_topic: /state, mqtt_topic: shadow/reported, direction: ros_to_mqtt, timeout_sec: 0 }
`,
  )
  await admin.call('PUT', '/shadows/ros-shadow/desired', { led: 'on' })
  const shadow = async () => (await admin.get('/shadows/ros-shadow')).body
  await until('the shadow is in sync', async () => (await shadow())['in_sync'] === true)
  expect(ros.sent('call_service', '/configure')).toMatchObject([{ args: { led: 'on' } }])
  ros.publish('/state', { data: '{"speed_max":1.5}' })
  await until('the state is reported', async () => Object((await shadow())['reported'])['speed_max'] === 1.5)
})

test('a silent topic is told as ROS_BRIDGE_TIMEOUT and subscribed again, and the metrics of the bridge say so', async () => {
  await begin(
    'ros-quiet',
    'bridges:\n  - { ros_topic: /scan, mqtt_topic: telemetry/scan, direction: ros_to_mqtt, timeout_sec: 1, on_timeout: error }\n',
  )
  const status = async () => (await admin.get('/devices/ros-quiet')).body['status']
  const isLogged = async (text: string) => (await admin.get('/devices/ros-quiet/logs')).text.includes(text)
  await until('the silence is told', () => isLogged('ROS_BRIDGE_TIMEOUT: no message on /scan for 1 s'))
  await until('the silence is a fault of the device', async () => (await status()) === 'error')
  await until('it is subscribed again', () => ros.sent('subscribe', '/scan').length > 1)
  await until('the socket is opened anew', () => ros.connections > 1)
  const route = async () => {
    const { routes, ros_connected } = Object((await latest('ros-quiet'))['bridge'])
    return ros_connected === 1 ? Object(routes)['scan'] : undefined
  }
  await until('the metrics say so', async () => (await route())?.stale === 1)
  await until('a socket is there', () => {
    ros.publish('/scan', { range: 3 })
    return bridge?.output().stderr.includes('messages arrive on /scan again')
  })
  await until('the log says so', () => isLogged('messages arrive on /scan again'))
  await until('the fault is over', async () => {
    ros.publish('/scan', { range: 3 })
    return (await status()) === 'online'
  })
})

test('a mistake in the file ends the bridge with its line, and a right file is summed up', async () => {
  const path = join(bridges.folder, 'wrong.yaml')
  const about = {
    deviceId: 'r1',
    token: 't',
    mqttUrl: 'mqtt://localhost:1883',
    rosUrl: 'ws://localhost:9090',
  }
  const text = bridges.textOf({ ...about, rest: TELEMETRY }).replace(/token: [^ ]+/, 'token: t')
  writeFileSync(path, text.replace('fields:', 'feilds:'))
  const wrong = await bridges.run(['--config', path])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain(`${path}:8: bridges[2].feilds is not known; did you mean fields?`)
  writeFileSync(path, text)
  const right = await bridges.run(['--config', path, '--check'])
  expect([right.code, right.stdout]).toEqual([0, expect.stringContaining('ros_to_mqtt')])
})

test('a device that the service refuses ends the bridge with advice', async () => {
  const { mqttUrl } = service
  bridge = bridges.begin({ deviceId: 'nobody', token: 'x', mqttUrl, rosUrl: ros.url, rest: TELEMETRY })
  const { code, stderr } = await bridge.ended
  expect([code, stderr]).toEqual([4, expect.stringContaining('MQTT_CONNECTION_REFUSED')])
})
