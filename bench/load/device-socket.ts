// One simulated device: a raw socket, a ring of packets encoded in advance, and the send times of those in flight.
import { connect, type Socket } from 'node:net'
import type { Histogram } from '../../engine/edge/histogram.ts'
import { ticks } from '../measure/deadline.ts'
import { AckReader, DISCONNECT, encodeConnect, type PacketRing } from './packets.ts'

export interface DeviceLogin {
  readonly id: string
  readonly token: string | undefined
}

export interface DeviceSocketOptions {
  readonly host: string
  readonly port: number
  readonly device: DeviceLogin
  readonly ring: PacketRing
  readonly keepAliveSec: number
}

// All sockets read into the same buffer, since each read is processed before the next one begins.
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024)

export class DeviceSocket {
  readonly device: DeviceLogin
  sent = 0
  acked = 0
  /** Called after acknowledgements have been counted. All packets that it sends are written at once. */
  onAcks: (socket: DeviceSocket, count: number) => void = () => undefined
  /** Microseconds from the scheduled send to the PUBACK. Undefined outside a measured run. */
  latency: Histogram | undefined
  readonly #ring: PacketRing
  readonly #sentAt: Float64Array
  readonly #acks = new AckReader()
  readonly #socket: Socket
  #opened: { resolve(): void; reject(error: Error): void } | undefined
  #deferred: number[] = []
  failure: Error | undefined

  /** Resolves after a CONNACK with code 0. */
  static open(options: DeviceSocketOptions): Promise<DeviceSocket> {
    return new Promise((resolve, reject) => {
      const opened = new DeviceSocket(options, { resolve: () => resolve(opened), reject })
    })
  }

  private constructor(options: DeviceSocketOptions, opened: { resolve(): void; reject(error: Error): void }) {
    const { host, port, device, ring, keepAliveSec } = options
    this.device = device
    this.#ring = ring
    this.#sentAt = new Float64Array(ring.size)
    this.#opened = opened
    const onread = { buffer: readBuffer, callback: (length: number) => this.#onBytes(length) }
    this.#socket = connect({ host, port, noDelay: true, onread })
    this.#socket.on('error', (error) => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error(`${device.id}: the broker closed the connection`)))
    this.#socket.write(encodeConnect({ clientId: device.id, password: device.token, keepAliveSec }))
  }

  get inFlight(): number {
    return this.sent - this.acked
  }

  get backlog(): number {
    return this.#deferred.length
  }

  /** Writes the next `count` packets of the ring. `at` is the time for which they were scheduled. */
  send(count: number, at: number): void {
    const { bytes, packetBytes, size } = this.#ring
    const first = this.sent % size
    for (let k = 0; k < count; k++) this.#sentAt[(first + k) % size] = at
    this.sent += count
    this.#socket.write(bytes.subarray(first * packetBytes, (first + count) * packetBytes))
  }

  /** Like `send`, but packets wait if the ring has no room until others are acknowledged. Their scheduled time is kept.
   *  Returns how many wait. */
  offer(count: number, at: number): number {
    const room = this.#deferred.length > 0 ? 0 : Math.min(count, this.#ring.size - this.inFlight)
    if (room > 0) this.send(room, at)
    for (let k = room; k < count; k++) this.#deferred.push(at)
    return count - room
  }

  /** Sends a packet that `encode` makes for the next packet id. */
  sendOwn(encode: (packetId: number) => Uint8Array, at: number): void {
    const slot = this.sent % this.#ring.size
    this.#sentAt[slot] = at
    this.sent++
    this.#socket.write(encode(slot + 1))
  }

  close(): void {
    this.#opened = undefined
    this.#socket.removeAllListeners('close')
    this.#socket.end(DISCONNECT)
    this.#socket.destroySoon()
  }

  // The result must be true, because false would pause the socket.
  #onBytes(length: number): boolean {
    const count = this.#acks.read(readBuffer, length)
    if (this.#opened !== undefined && this.#acks.connack !== undefined) this.#onConnack(this.#acks.connack)
    if (count > 0) this.#onAcks(count)
    return true
  }

  #onAcks(count: number): void {
    const { size } = this.#ring
    const { latency } = this
    if (this.#acks.lastId !== ((this.acked + count - 1) % size) + 1) {
      this.#fail(new Error(`${this.device.id}: PUBACK ${this.#acks.lastId} is out of order`))
    }
    if (latency !== undefined) {
      const now = ticks()
      for (let k = 0; k < count; k++)
        latency.record((now - (this.#sentAt[(this.acked + k) % size] ?? now)) * 1000)
    }
    this.acked += count
    while (this.#deferred.length > 0 && this.inFlight < size) this.send(1, this.#deferred.shift() ?? ticks())
    this.onAcks(this, count)
  }

  #onConnack(code: number): void {
    const opened = this.#opened
    this.#opened = undefined
    if (code === 0) opened?.resolve()
    else opened?.reject(new Error(`${this.device.id}: CONNACK ${code}`))
  }

  #fail(error: Error): void {
    this.failure ??= error
    this.#opened?.reject(error)
    this.#opened = undefined
    this.#socket.destroy()
  }
}
