// Clients of a service under test: devices over MQTT, people over /ws, and raw sockets for bytes that no client sends.
import { once } from 'node:events'
import { connect as dial, type Socket } from 'node:net'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import packets, { type IConnackPacket, type IConnectPacket } from 'mqtt-packet'
import { WebSocket } from 'ws'
import { type Service, until } from './service.ts'
import type { Rest } from './service-rest.ts'

/** Ends each client that tests of this process left open. */
const leftOpen = new Set<() => void>()

/** Ends all clients that are still open, as the end of their service would. */
export function endClients(): void {
  for (const end of leftOpen) end()
  leftOpen.clear()
}

/** Connects a device. With `reconnectPeriod` it reconnects by itself and sends again what was not acknowledged. */
export async function connectDevice(
  service: Pick<Service, 'mqttUrl'>,
  deviceId: string,
  token: string,
  options: IClientOptions = {},
): Promise<MqttClient> {
  const client = await connectAsync(service.mqttUrl, {
    clientId: deviceId,
    username: deviceId,
    password: token,
    reconnectPeriod: 0,
    ...options,
  })
  // The end of a connection does not fail the test by itself.
  client.on('error', () => undefined)
  leftOpen.add(() => client.end(true))
  return client
}

export function publish(
  client: MqttClient,
  deviceId: string,
  report: unknown,
  suffix = 'telemetry',
): Promise<unknown> {
  const payload = typeof report === 'string' || Buffer.isBuffer(report) ? report : JSON.stringify(report)
  return client.publishAsync(`fleet/${deviceId}/${suffix}`, payload, { qos: 1 })
}

/** Resolves at the end of the connection. Call it before the action that ends it. */
export function closedOf(client: MqttClient): Promise<void> {
  return new Promise((resolve) => client.once('close', () => resolve()))
}

/** Ends a connection without DISCONNECT, as a crash of the device does. */
export function drop(client: MqttClient): void {
  client.stream.destroy()
}

export type ConnectOutcome = { readonly kind: 'connack'; readonly code: number } | { readonly kind: 'cut' }

/** Sends one CONNECT and resolves with the outcome. */
export async function knock(
  service: Pick<Service, 'mqttUrl'>,
  connect: Partial<IConnectPacket> & { readonly clientId: string },
): Promise<ConnectOutcome> {
  const version = connect.protocolVersion ?? 4
  const bytes = packets.generate({
    cmd: 'connect',
    protocolId: 'MQTT',
    protocolVersion: version,
    clean: true,
    keepalive: 60,
    username: connect.clientId,
    ...connect,
  })
  const socket = await dialMqtt(service)
  const parser = packets.parser({ protocolVersion: version })
  let connack: IConnackPacket | undefined
  parser.on('packet', (packet) => {
    if (packet.cmd === 'connack') connack = packet
  })
  socket.on('data', (chunk: Buffer) => parser.parse(chunk))
  socket.write(bytes)
  await until('an answer to CONNECT', () => connack !== undefined || socket.destroyed)
  socket.destroy()
  if (connack === undefined) return { kind: 'cut' }
  return { kind: 'connack', code: (version === 5 ? connack.reasonCode : connack.returnCode) ?? -1 }
}

export async function dialMqtt({ mqttUrl }: Pick<Service, 'mqttUrl'>): Promise<Socket> {
  const { hostname, port } = new URL(mqttUrl)
  const socket = dial({ host: hostname, port: Number(port), noDelay: true })
  // An error is followed by 'close', which is handled.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

export interface Frame {
  readonly type: string
  readonly id?: string
  readonly seq?: number
  readonly event?: string
  readonly device_id?: string
  readonly data?: unknown
  readonly [key: string]: unknown
}

export interface Watcher {
  readonly socket: WebSocket
  readonly frames: Frame[]
  send(frame: unknown): void
  next(what: string, fits: (frame: Frame) => boolean): Promise<Frame>
  subscribe(id: string, channel: string, more?: object): Promise<void>
}

/** Opens a socket on /ws and logs in. */
export async function watch({ wsUrl }: Pick<Service, 'wsUrl'>, rest: Rest): Promise<Watcher> {
  const socket = new WebSocket(wsUrl)
  const frames: Frame[] = []
  socket.on('message', (data: Buffer) => {
    // The service under test wrote it; a wrong shape fails the test.
    frames.push(JSON.parse(data.toString()) as Frame)
  })
  socket.on('error', () => undefined)
  leftOpen.add(() => socket.terminate())
  await once(socket, 'open')
  const watcher: Watcher = {
    socket,
    frames,
    send: (frame) => socket.send(JSON.stringify(frame)),
    next: (what, fits) => until(what, () => frames.find(fits)),
    async subscribe(id, channel, more = {}) {
      watcher.send({ type: 'subscribe', id, channel, ...more })
      await watcher.next(`subscription ${id}`, (frame) => frame.type === 'subscribed' && frame.id === id)
    },
  }
  watcher.send({ type: 'auth', token: rest.token })
  await watcher.next('auth_ok', ({ type }) => type === 'auth_ok')
  return watcher
}

/** Returns the statuses of a device that a subscription received, in order. */
export function statusesOf(frames: readonly Frame[], deviceId: string): readonly string[] {
  return frames.flatMap(({ event, device_id, data }) =>
    event === 'device.status' && device_id === deviceId ? [String(Reflect.get(Object(data), 'status'))] : [],
  )
}
