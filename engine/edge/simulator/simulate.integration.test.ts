import { once } from 'node:events'
import { createServer as createHttp, type Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { Aedes, type AedesPublishPacket } from 'aedes'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { JsonObject } from '../../../schemas/json.ts'
import { parsePayload } from '../payload.ts'
import { type Simulation, simulate } from './simulate.ts'

const WITHIN = { timeout: 10_000, interval: 10 }

let broker: Aedes
let mqttServer: Server
let httpServer: HttpServer
let published: { readonly topic: string; readonly retain: boolean; readonly message: JsonObject }[]
/** Ids that are registered already. */
let known: Set<string>
let banned: Set<string>
let asked: string[]
let simulation: Simulation | undefined

beforeEach(async () => {
  published = []
  asked = []
  known = new Set()
  banned = new Set()
  broker = await Aedes.createBroker({
    authenticate: ({ id }, _username, password, done) =>
      done(null, !banned.has(id) && String(password) === `token ${id}`),
  })
  broker.on('publish', (packet: AedesPublishPacket) => {
    const message = typeof packet.payload === 'string' ? undefined : parsePayload(packet.payload)
    if (message !== undefined) published.push({ topic: packet.topic, retain: packet.retain, message })
  })
  mqttServer = createServer(broker.handle).listen(0, '127.0.0.1')
  httpServer = createHttp(async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { device_id: id } = parsePayload(Buffer.concat(chunks)) ?? {}
    asked.push(`${request.url} ${id}`)
    const isTaken = request.url === '/api/v1/devices' && known.has(String(id))
    response.writeHead(isTaken ? 409 : 201, { 'content-type': 'application/json' })
    const credentials = request.url === '/api/v1/devices' ? 'access_token' : 'mqtt_token'
    response.end(JSON.stringify(isTaken ? { code: 'ALREADY_EXISTS' } : { [credentials]: `token ${id}` }))
  }).listen(0, '127.0.0.1')
  await Promise.all([once(mqttServer, 'listening'), once(httpServer, 'listening')])
})

afterEach(async () => {
  await simulation?.stop()
  broker.close()
  mqttServer.close()
  httpServer.close()
  httpServer.closeAllConnections()
})

const port = (server: Server | HttpServer) => {
  // The server listens on TCP, so its address is an object.
  return (server.address() as AddressInfo).port
}
async function start(count: number, log?: (fields: Readonly<Record<string, unknown>>) => void) {
  simulation = await simulate({
    httpUrl: `http://127.0.0.1:${port(httpServer)}`,
    mqttUrl: `mqtt://127.0.0.1:${port(mqttServer)}`,
    token: 'any',
    count,
    ...(log === undefined ? {} : { log }),
  })
  return simulation
}
const on = (topic: string) => published.filter((one) => one.topic === topic)
function send(topic: string, message: JsonObject) {
  const packet = {
    cmd: 'publish',
    topic,
    payload: JSON.stringify(message),
    qos: 1,
    retain: false,
    dup: false,
  } as const
  broker.publish(packet, () => {})
}

test('every device is born, reports, answers commands, follows its shadow and says goodbye', async () => {
  const running = await start(4)
  expect(running.deviceIds).toEqual(['sim-001', 'sim-002', 'sim-003', 'sim-004'])
  await vi.waitFor(() => {
    for (const id of running.deviceIds) {
      expect(on(`fleet/${id}/status`)[0]).toMatchObject({
        retain: true,
        message: { status: 'online', reason: 'connect' },
      })
      expect(on(`fleet/${id}/telemetry`)[0]?.message).toHaveProperty('temperature')
      expect(on(`fleet/${id}/shadow/reported`)[0]?.retain).toBe(true)
    }
  }, WITHIN)
  expect(running.connected()).toBe(4)

  send('fleet/sim-002/command', { request_id: 'cmd_1', command: 'ping', timeout_ms: 1_000 })
  send('fleet/sim-002/shadow/desired', { version: 2, state: { led: 'on' } })
  await vi.waitFor(() => {
    const [ack] = on('fleet/sim-002/command/ack')
    expect(ack?.message).toMatchObject({ request_id: 'cmd_1', status: 'completed' })
    expect(on('fleet/sim-002/shadow/reported').at(-1)?.message).toMatchObject({ led: 'on' })
  }, WITHIN)

  await running.stop()
  for (const id of running.deviceIds) {
    expect(on(`fleet/${id}/status`).at(-1)?.message).toMatchObject({ status: 'offline', reason: 'shutdown' })
  }
})

test('devices that exist already get a new token', async () => {
  known.add('sim-001')
  await start(1)
  expect(asked).toEqual(['/api/v1/devices sim-001', '/api/v1/auth/devices/token sim-001'])
  await vi.waitFor(() => expect(simulation?.connected()).toBe(1), WITHIN)
})

test('a device whose token the broker refuses gives up, and the others go on', async () => {
  banned.add('sim-001')
  const log = vi.fn()
  const running = await start(2, log)
  await vi.waitFor(() => {
    expect(log).toHaveBeenCalledWith(expect.objectContaining({ deviceId: 'sim-001' }), expect.any(String))
    expect(running.connected()).toBe(1)
  }, WITHIN)
})

test('a device that is cut off leaves its last will', async () => {
  await start(1)
  await vi.waitFor(() => expect(simulation?.connected()).toBe(1), WITHIN)
  const [birth] = await vi.waitFor(() => {
    expect(on('fleet/sim-001/status')).toHaveLength(1)
    return on('fleet/sim-001/status')
  }, WITHIN)
  const client: unknown = Reflect.get(broker, 'clients')
  // aedes keeps its clients by id, which its types do not tell.
  ;(client as Record<string, { conn: { destroy(): void } }>)['sim-001']?.conn.destroy()
  await vi.waitFor(
    () => expect(on('fleet/sim-001/status').at(-1)?.message).toMatchObject({ reason: 'lwt' }),
    WITHIN,
  )
  const { session_id: sessionId } = birth?.message ?? {}
  expect(on('fleet/sim-001/status').at(-1)?.message).toMatchObject({ session_id: sessionId })
})

test('an impossible number of devices is refused', async () => {
  await expect(start(0)).rejects.toThrow('from 1 to 1000')
})
