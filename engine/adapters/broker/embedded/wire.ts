// The connection aedes believes it has: one per session that subscribes. aedes' bytes go to the device's socket,
// the device's SUBSCRIBE and acknowledgement packets go to aedes, and nothing else does.
//
// W1. A write never waits: one subscriber that does not read would otherwise stall the delivery to all.
// W2. Every packet id in the air is known here, so that an acknowledgement finds the downlink it answers.
import { Buffer } from 'node:buffer'
import { Duplex } from 'node:stream'
import type { DeviceId } from '../../../../schemas/ids.ts'
import { suffixOf } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import type { EndCause } from '../../../ports/broker.ts'
import type { Qos } from '../filters.ts'
import type { SessionState } from './session-state.ts'

/** Who a wire serves: a live session. */
export interface Subscriber {
  readonly deviceId: DeviceId
  readonly maySubscribe: boolean
  readonly state: SessionState
  readonly isEnded: boolean
  send(bytes: Uint8Array): void
  /** More may be sent than usual until the socket has drained once. */
  allowBurst(bytes: number): void
  end(cause: EndCause): void
  /** aedes takes packets again. */
  fed(): void
  /** A subscription was not granted. */
  refused(wanted: 'subscribe'): void
  /** Has what it subscribed to. */
  subscribed(): void
}

/** The fate of one downlink. */
export interface Delivery {
  taken: 'no' | 'written' | 'sent'
  acked(isAcked: boolean): void
}

/** A packet on its way to one client, as aedes shows it. */
export interface Forwarded {
  readonly topic: string
  readonly payload: Buffer
  qos: Qos
  messageId?: number | undefined
}

const CONNACK_BYTES = 4
const HELD_BYTES_MAX = 64 * 1024
/** Never reached: nothing is kept in this stream (W1). */
const UNREACHABLE_MARK = 2 ** 30

export class Wire extends Duplex {
  readonly subscriber: Subscriber
  readonly #unacked = new Map<number, Delivery | undefined>()
  /** aedes' own CONNACK is swallowed: the guard has sent one. */
  #skip = CONNACK_BYTES
  #held: Uint8Array[] | undefined = []
  #heldBytes = 0
  #isStalled = false
  #waiting: (() => void)[] | undefined = []

  constructor(subscriber: Subscriber) {
    super({ writableHighWaterMark: UNREACHABLE_MARK })
    this.subscriber = subscriber
  }

  /** Gives aedes bytes of the device. False when nothing more should be read until `fed` is called. */
  feed(bytes: Uint8Array): boolean {
    if (this.#held === undefined) this.#isStalled = !this.push(bytes)
    else {
      this.#held.push(bytes)
      this.#heldBytes += bytes.length
      this.#isStalled = this.#heldBytes > HELD_BYTES_MAX
    }
    return !this.#isStalled
  }

  /** aedes has accepted the client and reads what it sends. */
  opened(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const bytes of held) this.push(bytes)
  }

  /** aedes has replayed what waited for the device: from here on, order is the order of publishing. */
  ready(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const resume of waiting) resume()
  }

  get isReady(): boolean {
    return this.#waiting === undefined
  }

  /** Calls back once ready, or over. */
  whenReady(callback: () => void): void {
    if (this.#waiting === undefined) callback()
    else this.#waiting.push(callback)
  }

  /** Decides over a packet aedes is about to write: whether, at which QoS, under which id (W2). */
  forward(packet: Forwarded, delivery: Delivery | undefined): Forwarded | null {
    const { state, deviceId } = this.subscriber
    if (this.destroyed) return null
    if (packet.messageId !== undefined) return this.#replay(packet, packet.messageId)
    const suffix = suffixOf(deviceId, packet.topic)
    const granted = suffix === undefined ? -1 : state.filters.qosFor(suffix)
    if (granted < 0) return null
    if (granted < packet.qos) packet.qos = granted as Qos
    if (packet.qos === 0) {
      if (delivery !== undefined) delivery.taken = 'written'
      return packet
    }
    if (this.#unacked.size >= LIMITS.sessionUnackedMax) {
      this.subscriber.end('abuse')
      return null
    }
    const id = state.nextId((used) => this.#unacked.has(used))
    packet.messageId = id
    this.#unacked.set(id, delivery)
    if (delivery !== undefined) delivery.taken = 'sent'
    return packet
  }

  /** The device's PUBREC: it has the message, and will not be sent it again. */
  receipted(messageId: number): void {
    this.subscriber.state.queue.release(messageId)
  }

  /** The device's PUBACK or PUBCOMP. Not left to aedes, which hears of it later: the device may be gone by then. */
  acked(messageId: number): void {
    this.subscriber.state.queue.remove(messageId)
    const delivery = this.#unacked.get(messageId)
    if (this.#unacked.delete(messageId)) delivery?.acked(true)
  }

  #replay(packet: Forwarded, messageId: number): Forwarded {
    this.#unacked.set(messageId, undefined)
    this.subscriber.allowBurst(packet.payload.length + packet.topic.length + 16)
    return packet
  }

  override _read(): void {
    if (!this.#isStalled) return
    this.#isStalled = false
    this.subscriber.fed()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#deliver(chunk)
    done()
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#deliver(Buffer.concat(chunks.map(({ chunk }) => chunk)))
    done()
  }

  #deliver(bytes: Buffer): void {
    const skipped = Math.min(this.#skip, bytes.length)
    this.#skip -= skipped
    if (skipped < bytes.length) this.subscriber.send(bytes.subarray(skipped))
  }

  override _destroy(error: Error | null, done: (error: null) => void): void {
    for (const delivery of this.#unacked.values()) delivery?.acked(false)
    this.#unacked.clear()
    this.ready()
    // Destroyed by aedes, which found a packet it cannot accept; by the session itself, this changes nothing.
    this.subscriber.end(error === null ? 'lost' : 'abuse')
    done(null)
  }
}
