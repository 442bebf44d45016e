// The MQTT connection of a simulated device or gateway: a plain socket and its unacknowledged messages.
//
// L1. All links share one read buffer, one write buffer and one parser.
// L2. A message of QoS 1 is sent until it is acknowledged, over later connections if necessary. Messages that were
// unacknowledged when a connection ended are counted.
// - The window bounds the number of unacknowledged messages.
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import mqttPacket from 'mqtt-packet'
import { MQTT_LIMITS } from '../../../../schemas/mqtt-limits.ts'
import type { Histogram } from '../../histogram.ts'
import { toWord } from '../../publish-packet.ts'
import type { Counts, ErrorKind } from '../scenario/summary.ts'
import { cutFrames } from './frames.ts'
import type { PublishParser } from './publish-parser.ts'
import type { Sink, WriteBuffer } from './write-buffer.ts'

export interface LinkPorts {
  readonly writeBuffer: WriteBuffer
  readonly parser: PublishParser
  readonly counts: Counts
  readonly latency: Histogram
  /** Returns the milliseconds of a monotonic clock. */
  now(): number
}

export interface BrokerAddress {
  readonly host: string
  readonly port: number
  readonly isTls: boolean
}

export interface LinkOptions extends BrokerAddress {
  readonly clientId: string
  readonly token: string
  readonly keepAliveSec: number
  readonly localAddress: string | undefined
  /** The maximum number of unacknowledged messages. */
  readonly window: number
  readonly subscriptions: () => readonly string[]
  /** Offsets the send times of gateways, so that they do not all send at the same moment. */
  readonly nth: number
}

export interface LinkOwner {
  /** Returns the last will for the connection that is about to begin. */
  will(): { readonly topic: string; readonly payload: string }
  opened(): void
  closed(cause: ErrorKind): void
  message(topic: string, payload: Buffer): void
}

interface KeptMessage {
  readonly topic: string
  readonly payload: string
  readonly retain: boolean
}

interface SentMessage extends KeptMessage {
  readonly at: number
}

const CONNECT_MS_MAX = 20_000
const QUEUED_MAX = 10_000
const SEND_INTERVAL_MS = 200
const SEND_OFFSET_MS = 20
/** The return codes of CONNACK for a rejected client identifier, a bad user name or password, and a client that is not
 *  authorised. */
const REFUSALS: readonly number[] = [2, 4, 5]
const PINGREQ = '\xc0\0'
const DISCONNECT = '\xe0\0'
const PUBACK = '\x40\x02'
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024)

type Phase = 'closed' | 'connecting' | 'open'

export class Link implements Sink {
  readonly #ports: LinkPorts
  readonly #options: LinkOptions
  readonly #owner: LinkOwner
  /** The unacknowledged messages. A message with packet id n is at index n - 1. */
  readonly #sent: (SentMessage | undefined)[]
  #unacked = 0
  /** The index for the next message. If all places are taken, the oldest message is here. */
  #next = 0
  #queued: KeptMessage[] | undefined
  #socket: Socket | undefined
  #phase: Phase = 'closed'
  #rest: Buffer | undefined
  #heardAt = 0
  #writtenAt = 0
  /** True for a half-open connection, which neither sends nor receives. */
  #isMute = false

  constructor(ports: LinkPorts, options: LinkOptions, owner: LinkOwner) {
    this.#ports = ports
    this.#options = options
    this.#owner = owner
    this.#sent = new Array<SentMessage | undefined>(options.window).fill(undefined)
  }

  /** Moves a time to the next common send time of this link, so that devices behind one gateway are sent in one
   *  write. */
  nextSendTime(at: number): number {
    return (
      Math.ceil(at / SEND_INTERVAL_MS) * SEND_INTERVAL_MS +
      ((this.#options.nth * SEND_OFFSET_MS) % SEND_INTERVAL_MS)
    )
  }

  get isOpen(): boolean {
    return this.#phase === 'open'
  }

  get unacked(): number {
    return this.#unacked + (this.#queued?.length ?? 0)
  }

  open(): void {
    if (this.#phase !== 'closed') return
    const { host, port, isTls, localAddress } = this.#options
    this.#phase = 'connecting'
    this.#heardAt = this.#ports.now()
    this.#isMute = false
    const local = localAddress === undefined ? {} : { localAddress }
    const callback = (length: number): boolean => this.#read(socket, readBuffer, length)
    const socket: Socket = isTls
      ? connectTls({ host, port, ...local, ...(/^[\d.:]+$/.test(host) ? {} : { servername: host }) })
      : connectTcp({ host, port, noDelay: true, ...local, onread: { buffer: readBuffer, callback } })
    this.#socket = socket
    // TLS sockets do not support `onread`.
    if (isTls) socket.on('data', (bytes: Buffer) => void this.#read(socket, bytes, bytes.length))
    socket.on('error', () => this.#ended(socket, 'unreachable'))
    socket.on('close', () => this.#ended(socket, 'disconnected'))
    this.write(this.#connectPacket())
  }

  /** Publishes a message. If it cannot be sent now, a message of QoS 1 is sent later (L2) and a message of QoS 0 is
   *  dropped. */
  publish(topic: string, payload: string, { qos, retain }: PublishOptions): void {
    const isOpen = this.#phase === 'open' && !this.#isMute
    const { counts, writeBuffer } = this.#ports
    if (qos === 0) {
      if (!isOpen) return
      counts.published++
      writeBuffer.publish(this, { topic, payload, head: retain ? 0x31 : 0x30, packetId: 0 })
      return
    }
    const slot = this.#next
    if (!isOpen || this.#sent[slot] !== undefined) {
      this.#queue({ topic, payload, retain })
      return
    }
    this.#next = (slot + 1) % this.#sent.length
    this.#sent[slot] = { topic, payload, retain, at: this.#ports.now() }
    this.#unacked++
    counts.published++
    writeBuffer.publish(this, { topic, payload, head: retain ? 0x33 : 0x32, packetId: slot + 1 })
  }

  /** Sends a ping if one is due, and ends a connection that has been silent for too long. The owner calls it
   *  regularly. */
  check(now: number): void {
    const { keepAliveSec } = this.#options
    if (this.#phase === 'connecting' && now - this.#heardAt > CONNECT_MS_MAX) this.#end('unreachable')
    if (this.#phase !== 'open' || this.#isMute) return
    if (now - this.#heardAt > keepAliveSec * 1_500) this.#end('silent')
    else if (now - Math.min(this.#writtenAt, this.#heardAt) > keepAliveSec * 400)
      this.#ports.writeBuffer.add(this, PINGREQ)
  }

  /** Breaks the connection without DISCONNECT, so that the broker publishes the last will. */
  cut(): void {
    this.#end(undefined)
  }

  /** Disconnects cleanly, so that the broker does not publish the last will. */
  leave(): void {
    const socket = this.#socket
    if (this.#phase === 'open' && !this.#isMute) {
      this.#ports.writeBuffer.add(this, DISCONNECT)
      this.#ports.writeBuffer.flush()
    }
    this.#close()
    socket?.end()
    socket?.destroySoon()
  }

  mute(isMute: boolean): void {
    this.#isMute = isMute
    this.setReading(!isMute)
  }

  setReading(isReading: boolean): void {
    if (isReading) this.#socket?.resume()
    else this.#socket?.pause()
  }

  write(bytes: string): void {
    this.#writtenAt = this.#ports.now()
    this.#socket?.write(bytes, 'latin1')
  }

  #connectPacket(): string {
    const { clientId, token, keepAliveSec: keepalive } = this.#options
    const { topic, payload } = this.#owner.will()
    const packet = mqttPacket.generate({
      ...{ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: false, clientId, keepalive },
      ...{ username: clientId, password: Buffer.from(token) },
      will: { topic, payload: Buffer.from(payload), qos: 1, retain: true },
    })
    return packet.toString('latin1')
  }

  /** Always returns true. Returning false would pause the socket. */
  #read(socket: Socket, chunk: Buffer, length: number): boolean {
    if (socket !== this.#socket || this.#isMute) return true
    this.#heardAt = this.#ports.now()
    const begun = this.#rest?.length ?? 0
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk], begun + length)
    try {
      const rest = cutFrames(bytes, begun + length, (from, start, end) => this.#take(from, start, end))
      // The rest is copied because the next read overwrites the buffer (L1).
      this.#rest = rest === undefined ? undefined : Buffer.from(rest)
    } catch {
      // Bytes that are not MQTT end the connection, like any other fault of the broker.
      this.#end('disconnected')
    }
    this.#ports.writeBuffer.flush()
    return true
  }

  #take(bytes: Buffer, start: number, end: number): void {
    const kind = (bytes[start] ?? 0) >> 4
    if (kind === 4) this.#acked(((bytes[start + 2] ?? 0) << 8) | (bytes[start + 3] ?? 0))
    else if (kind === 3) this.#received(bytes.subarray(start, end))
    else if (kind === 2) this.#connacked(bytes[start + 3] ?? 0xff)
  }

  #connacked(code: number): void {
    if (code !== 0) {
      this.#end(REFUSALS.includes(code) ? 'refused' : 'unreachable')
      return
    }
    this.#phase = 'open'
    this.#ports.counts.connects++
    const subscriptions = this.#options.subscriptions().map((topic) => ({ topic, qos: 1 as const }))
    // The packet ids of messages go from 1 to the window size, so this id is never one of them.
    const messageId = 0xffff
    const packet = mqttPacket.generate({ cmd: 'subscribe', messageId, subscriptions })
    this.#ports.writeBuffer.add(this, packet.toString('latin1'))
    this.#owner.opened()
    this.#drain()
  }

  #received(packet: Buffer): void {
    const parsed = this.#ports.parser.parse(packet)
    if (parsed === undefined) return
    const { topic, payload, qos, messageId = 0 } = parsed
    if (qos > 0) this.#ports.writeBuffer.add(this, PUBACK + toWord(messageId))
    this.#owner.message(topic, typeof payload === 'string' ? Buffer.from(payload) : payload)
  }

  #acked(packetId: number): void {
    const slot = packetId - 1
    const sent = this.#sent[slot]
    if (sent === undefined) return
    this.#sent[slot] = undefined
    this.#unacked--
    const { counts, latency } = this.#ports
    counts.acked++
    latency.record((this.#ports.now() - sent.at) * 1_000)
    if (this.#queued !== undefined) this.#drain()
  }

  #queue(message: KeptMessage): void {
    this.#queued ??= []
    if (this.#queued.length < QUEUED_MAX) this.#queued.push(message)
    else this.#ports.counts.error('held_back')
  }

  #drain(): void {
    const queued = this.#queued
    if (queued === undefined) return
    this.#queued = undefined
    for (const { topic, payload, retain } of queued) this.publish(topic, payload, { qos: 1, retain })
  }

  #ended(socket: Socket, cause: ErrorKind): void {
    if (socket !== this.#socket) return
    this.#end(this.#phase === 'connecting' ? 'unreachable' : cause === 'unreachable' ? 'disconnected' : cause)
  }

  /** `cause` is undefined if the owner ended the connection itself. */
  #end(cause: ErrorKind | undefined): void {
    if (this.#phase === 'closed') return
    this.#ports.writeBuffer.flush()
    const socket = this.#socket
    this.#close()
    socket?.destroy()
    if (cause !== undefined) {
      this.#ports.counts.error(cause)
      this.#owner.closed(cause)
    }
  }

  #close(): void {
    this.#phase = 'closed'
    this.#socket = undefined
    this.#rest = undefined
    this.#isMute = false
    // Unacknowledged messages are sent first over the next connection, the oldest first, and are counted as published
    // again (L2).
    this.#ports.counts.error('unacknowledged', this.#unacked)
    const kept = [...this.#sent.slice(this.#next), ...this.#sent.slice(0, this.#next)]
      .filter((message) => message !== undefined)
      // One that is too large ended this connection, and would end each of the following.
      .filter(({ payload }) => payload.length <= MQTT_LIMITS.payloadBytesMax)
    this.#queued = kept.length > 0 ? [...kept, ...(this.#queued ?? [])] : this.#queued
    this.#unacked = 0
    this.#next = 0
    this.#sent.fill(undefined)
  }
}

export interface PublishOptions {
  readonly qos: 0 | 1
  readonly retain: boolean
}
