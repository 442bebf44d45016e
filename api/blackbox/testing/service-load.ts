// A fleet that numbers its messages and remembers what was acknowledged, for tests that a crash loses nothing. It uses raw
// sockets, so that losses of a client library are not blamed on the service.
import { connect as dial, type Socket } from 'node:net'
import packets from 'mqtt-packet'
import { type Service, until } from './service.ts'
import { historyOf, type Rest, registerDevice } from './service-rest.ts'

/** Time between two messages' own times, so that each is alone in its bucket of 10 s. */
const STEP_MS = 10_000
const BUCKETS_AT_ONCE = 10_000
const RECONNECT_MS = 100
const PACKET_IDS = 65_535

export interface LoadOptions {
  readonly prefix: string
  readonly devices: number
  /** Messages of each device. */
  readonly perSecond: number
  /** Messages of a device in flight; 1 keeps them in order over reconnects, too. */
  readonly window: number
  /** The time of message 0. Without it the service gives each message its receive time. */
  readonly from?: number
  /** Bytes that are added to make the messages longer. */
  readonly filler?: string
}

/** Starts devices that reconnect by themselves and send again what was not acknowledged. */
export async function startLoad(
  service: Service,
  rest: Rest,
  options: LoadOptions,
): Promise<readonly Loader[]> {
  const ids = Array.from({ length: options.devices }, (_, i) => `${options.prefix}-${i}`)
  const loaders = await Promise.all(
    ids.map(async (id) => new Loader(service, id, await registerDevice(rest, id), options)),
  )
  await until('the load is connected', () => loaders.every(({ isConnected }) => isConnected))
  return loaders
}

export class Loader {
  readonly deviceId: string
  /** Number of messages made so far. */
  sent = 0
  acked = 0
  /** Number of PUBLISH packets sent, repetitions included. */
  transmitted = 0
  isConnected = false
  readonly #address: { readonly host: string; readonly port: number }
  readonly #connect: Buffer
  readonly #options: LoadOptions
  /** Unacknowledged messages in the order in which they were made, with the time of their last transmission; 0 is never. */
  readonly #unacked = new Map<number, number>()
  readonly #timer: NodeJS.Timeout
  #socket: Socket | undefined
  #isDone = false

  constructor({ mqttUrl }: Pick<Service, 'mqttUrl'>, deviceId: string, token: string, options: LoadOptions) {
    const { hostname, port } = new URL(mqttUrl)
    this.#address = { host: hostname, port: Number(port) }
    this.deviceId = deviceId
    this.#options = options
    this.#connect = packets.generate({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
      keepalive: 60,
      clientId: deviceId,
      username: deviceId,
      password: Buffer.from(token),
    })
    this.#timer = setInterval(() => this.#make(), 1000 / options.perSecond)
    this.#dial()
  }

  /** Stops making messages, and resolves once all are acknowledged. */
  async finish(): Promise<void> {
    clearInterval(this.#timer)
    await until(`${this.deviceId} is acknowledged`, () => this.#unacked.size === 0)
    this.stop()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#isDone = true
    this.#socket?.destroy()
  }

  #make(): void {
    if (this.#unacked.size >= this.#options.window) return
    const n = this.sent++
    this.#unacked.set(n, 0)
    if (this.isConnected) this.#send(n, false)
  }

  #dial(): void {
    const socket = dial({ ...this.#address, noDelay: true }, () => socket.write(this.#connect))
    this.#socket = socket
    const parser = packets.parser()
    parser.on('packet', (packet) => {
      if (packet.cmd === 'connack') this.#admitted(packet.returnCode)
      else if (packet.cmd === 'puback' && packet.messageId !== undefined) this.#acknowledged(packet.messageId)
    })
    socket.on('data', (chunk: Buffer) => parser.parse(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.isConnected = false
      if (!this.#isDone) setTimeout(() => this.#isDone || this.#dial(), RECONNECT_MS)
    })
  }

  #admitted(code: number | undefined): void {
    if (code !== 0) throw new Error(`${this.deviceId} was refused with ${code}`)
    this.isConnected = true
    for (const [n, sentAt] of this.#unacked) this.#send(n, sentAt > 0)
  }

  #send(n: number, dup: boolean): void {
    const { from, filler } = this.#options
    const timestamp = from === undefined ? undefined : from + n * STEP_MS
    this.transmitted++
    this.#unacked.set(n, performance.now())
    this.#socket?.write(
      packets.generate({
        cmd: 'publish',
        topic: `fleet/${this.deviceId}/telemetry`,
        payload: JSON.stringify({ n, timestamp, filler }),
        qos: 1,
        dup,
        retain: false,
        messageId: (n % PACKET_IDS) + 1,
      }),
    )
  }

  /** PUBACKs come in the order of their messages. */
  #acknowledged(messageId: number): void {
    const [first] = this.#unacked
    if (first === undefined || (first[0] % PACKET_IDS) + 1 !== messageId)
      throw new Error(`${this.deviceId}: PUBACK ${messageId} is not for message ${first?.[0]}`)
    this.#unacked.delete(first[0])
    this.acked++
  }
}

export const ackedOf = (loaders: readonly Loader[]) => loaders.reduce((sum, { acked }) => sum + acked, 0)

/** Returns the numbers of a device whose messages carry their own times. Fails unless each is stored once with its value. */
export async function storedNumbers(
  rest: Rest,
  deviceId: string,
  from: number,
  sent: number,
): Promise<readonly number[]> {
  const numbers: number[] = []
  for (let n = 0; n < sent; n += BUCKETS_AT_ONCE) {
    const range = { from: from + n * STEP_MS, to: from + Math.min(sent, n + BUCKETS_AT_ONCE) * STEP_MS }
    const buckets = await historyOf(rest, deviceId, { ...range, metric: 'n', interval: '10s' })
    for (const { time, count, min, max } of buckets) {
      const expected = (Date.parse(time) - from) / STEP_MS
      if (count !== 1 || min !== expected || max !== expected)
        throw new Error(
          `${deviceId} at ${time}: ${count} points from ${min} to ${max}, not one of ${expected}`,
        )
      numbers.push(expected)
    }
  }
  return numbers
}
