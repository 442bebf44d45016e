// Tests the connection to rosbridge against a WebSocket server that records the frames that it receives.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { commandHandler } from '../commands.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { downlinkRoute } from '../testing/routes.ts'
import { Rosbridge, type RosbridgeOptions } from './rosbridge.ts'

type Frame = Readonly<Record<string, unknown>>

let server: WebSocketServer
let ros: Rosbridge | undefined
let clock: FakeClock
let frames: Frame[]
let headers: (string | undefined)[]
let sockets: WebSocket[]

beforeEach(async () => {
  clock = new FakeClock()
  frames = []
  headers = []
  sockets = []
  server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', (socket, request) => {
    sockets.push(socket)
    headers.push(request.headers.authorization)
    socket.on('message', (data) => frames.push(JSON.parse(String(data))))
  })
  await once(server, 'listening')
})
afterEach(async () => {
  ros?.close()
  for (const socket of sockets) socket.terminate()
  await new Promise((resolve) => server.close(resolve))
})

/** Resolves once the connection is open. */
async function open(more: Partial<RosbridgeOptions> = {}): Promise<{
  readonly ros: Rosbridge
  readonly complaints: readonly string[]
}> {
  // A TCP server has an object as its address.
  const { port } = server.address() as AddressInfo
  const complaints: string[] = []
  let isOpen = () => {}
  const opened = new Promise<void>((resolve) => {
    isOpen = resolve
  })
  const nothing = () => undefined
  const connection = new Rosbridge(
    {
      ...{ url: `ws://127.0.0.1:${port}`, token: undefined, connectTimeoutMs: 60_000 },
      ...{ subscriptions: [], advertisements: [], clock, random: () => 0 },
      ...more,
    },
    {
      opened: () => isOpen(),
      ...{ closed: nothing, unreachable: nothing, message: nothing, oversized: nothing },
      complaint: (text) => complaints.push(text),
    },
  )
  ros = connection
  connection.open()
  await opened
  return { ros: connection, complaints }
}

const sent = (op: string) => frames.filter((frame) => frame['op'] === op)
const SCAN = { topic: '/scan', type: undefined, throttleMs: 0, bytesMax: 1_000 }

test('a token is sent as a bearer token, and without one no such header is sent', async () => {
  await open({ token: 'secret' })
  ros?.close()
  await open()
  expect(headers).toEqual(['Bearer secret', undefined])
})

test('a topic is advertised with its type and the latch setting of its route', async () => {
  const topics = ['', ', latch: true'].map((more, n) =>
    downlinkRoute(
      `ros_topic: /t${n}, mqtt_topic: command/c${n}, direction: mqtt_to_ros, ros_type: std_msgs/msg/Bool${more}`,
    ),
  )
  const advertisements = topics.map(({ rosTopic: topic, rosType: type = '', latch }) => ({
    topic,
    type,
    latch,
  }))
  await open({ advertisements })
  await expect.poll(() => sent('advertise').length).toBe(2)
  expect(sent('advertise')).toMatchObject([
    { topic: '/t0', type: 'std_msgs/msg/Bool', latch: false },
    { topic: '/t1', type: 'std_msgs/msg/Bool', latch: true },
  ])
})

test.each([
  ['the subscription id', { id: 'fleet:subscribe:/scan', msg: 'type is required' }, 1],
  ['the topic instead of an id', { msg: 'Cannot infer type of topic /scan, as it is not yet advertised' }, 1],
  [
    'a topic without a subscription',
    { msg: 'Cannot infer type of topic /scan/raw, as it is not yet advertised' },
    0,
  ],
])(
  'after a refusal that names %s, only the refused subscription is repeated after 5 s',
  async (_, refusal, tries) => {
    const { complaints } = await open({ subscriptions: [SCAN] })
    await expect.poll(() => sent('subscribe').length).toBe(1)
    for (let time = 1; time <= 2; time++) {
      sockets[0]?.send(JSON.stringify({ op: 'status', level: 'error', ...refusal }))
      await expect.poll(() => complaints.length).toBe(time)
      clock.pass(5_000)
      // When this frame has arrived, all earlier frames have arrived, too.
      ros?.publish('/after', { time })
      await expect.poll(() => sent('publish').length).toBe(time)
      expect(sent('subscribe')).toHaveLength(1 + time * tries)
    }
  },
)

test('a String topic for all commands gets their text, or the whole command as JSON', async () => {
  const { ros: connection } = await open()
  const route = downlinkRoute(
    'ros_topic: /cmd, mqtt_topic: command, direction: mqtt_to_ros, ros_type: std_msgs/msg/String',
  )
  const handler = commandHandler(route, connection, clock)
  const { signal } = new AbortController()
  const context = {
    requestId: 'cmd_1',
    command: 'say',
    expiresAt: undefined,
    signal,
    progress: () => undefined,
  }
  handler({ data: 'hello' }, context)
  handler({ bay: 3 }, context)
  await expect.poll(() => sent('publish').length).toBe(2)
  expect(sent('publish')).toMatchObject([
    { topic: '/cmd', msg: { data: 'hello' } },
    { topic: '/cmd', msg: { data: '{"request_id":"cmd_1","command":"say","data":{"bay":3}}' } },
  ])
})
