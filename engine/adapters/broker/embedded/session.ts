// One admitted device on its socket: reads packets, passes messages to `incoming.ts` and everything about downlinks to
// `outgoing.ts`, and ends when MQTT, the clock or the broker says so.
//
// - Messages that are read but not yet durable are bounded; at the bound, the socket is no longer read (R9).
// - Bytes from a device never make it throw. An error that MQTT has no answer for ends the connection.
import { Buffer } from 'node:buffer'
import { type DeviceId, type Micros, Millis, type Partition } from '../../../../schemas/ids.ts'
import { unreachable } from '../../../domain/unreachable.ts'
import { LIMITS } from '../../../limits.ts'
import type { EndCause } from '../../../ports/broker.ts'
import { warnBeforeMs } from '../token-warning.ts'
import type { V5Options } from './connect-fields.ts'
import { toExpirySec } from './connect-v5.ts'
import { type ControlV5, readControlV5 } from './control-v5.ts'
import { PINGRESP } from './encode.ts'
import { disconnectV5 } from './encode-v5.ts'
import { Incoming } from './incoming.ts'
import { Outgoing } from './outgoing.ts'
import { locate, PACKET, readFilters, readUint16, type Span } from './packets.ts'
import type { Peer } from './peer.ts'
import { type ExplainedReason, explain, REASON, reasonOfEnd } from './reasons.ts'
import type { LiveSession, SessionFacts, SessionHub } from './session-hub.ts'
import type { Message, SessionState } from './session-state.ts'
import { UnparsedBytes } from './unparsed-bytes.ts'

/** First bytes: MQTT reserves the flags of these packets and gives them this value. */
const PUBREL = (PACKET.pubrel << 4) | 2
const SUBSCRIBE = (PACKET.subscribe << 4) | 2
const UNSUBSCRIBE = (PACKET.unsubscribe << 4) | 2
/** First bytes of a device's answers to a message. */
const ANSWERS: ReadonlySet<number> = new Set([PACKET.puback << 4, PACKET.pubrec << 4, PACKET.pubcomp << 4])

export class Session implements LiveSession {
  readonly deviceId: DeviceId
  readonly partition: Partition
  readonly number: Micros
  readonly ip: string
  readonly idBytes: Uint8Array
  readonly maySubscribe: boolean
  readonly state: SessionState
  readonly v5Options: V5Options | undefined
  readonly tokenSec: number | undefined
  isEnded = false
  isPaused = false
  readonly #hub: SessionHub
  readonly #socket: Peer
  readonly #expiresAt: number
  /** When to warn the device that its credentials are about to end; infinity once it has been warned. */
  #warnAt: number
  readonly #silenceMs: number
  readonly #span: Span = { first: 0, bodyStart: 0, end: 0 }
  readonly #unparsed = new UnparsedBytes()
  readonly #incoming: Incoming
  /** Created when the device first subscribes: most devices of a large fleet may never do so. */
  #outgoing: Outgoing | undefined
  #heardAt: number
  #isPeerGone = false

  constructor(hub: SessionHub, socket: Peer, facts: SessionFacts) {
    this.#hub = hub
    this.#socket = socket
    this.deviceId = facts.deviceId
    this.partition = facts.partition
    this.number = facts.number
    this.ip = facts.ip
    this.idBytes = Buffer.from(facts.deviceId)
    this.maySubscribe = facts.maySubscribe
    this.state = facts.state
    this.v5Options = facts.v5Options
    this.#expiresAt = facts.expiresAt
    this.tokenSec = facts.tokenSec
    this.#warnAt = facts.expiresAt - warnBeforeMs(facts.tokenSec)
    this.#silenceMs = facts.keepAliveMs * 1.5 + LIMITS.brokerSweepEveryMs
    this.#heardAt = hub.tick
    this.#incoming = new Incoming(hub, this, facts)
  }

  get pending(): number {
    return this.#incoming.pending
  }

  /** Sends the CONNACK and starts to read; `rest` came with the CONNECT. */
  open(connack: Uint8Array, rest: Buffer): void {
    const socket = this.#socket
    socket.on('data', this.#onData)
    socket.on('end', this.#onPeerEnd)
    socket.on('close', this.#onPeerEnd)
    this.send(connack)
    if (this.state.isUsed) this.#openOutgoing().resume()
    if (this.state.filters.size > 0 && !this.isEnded) this.#hub.host.subscribed(this)
    if (rest.length > 0) this.#onData(rest)
    if (!this.isPaused) socket.resume()
  }

  durable(count: number): void {
    this.#incoming.durable(count)
    if (this.isEnded && this.pending === 0) this.#hub.ended(this)
    this.#hub.resumePaused()
  }

  send(bytes: Uint8Array): void {
    if (this.isEnded) return
    if (this.#socket.writableLength > LIMITS.sessionOutBytesMax) this.endFrozen()
    else this.#socket.write(bytes)
  }

  publish(message: Message): Promise<boolean> | undefined {
    return this.#outgoing?.publish(message)
  }

  takes(suffix: string): boolean {
    return !this.isEnded && this.state.filters.qosFor(suffix) >= 0
  }

  sweep(ticks: number, now: number, asleepMs: number): void {
    if (this.isPaused) this.#heardAt = ticks
    else this.#heardAt += asleepMs
    this.#incoming.recheckRate()
    if (now >= this.#warnAt) {
      this.#warnAt = Number.POSITIVE_INFINITY
      this.#hub.host.expiring?.(this, Millis(this.#expiresAt))
    }
    if (now >= this.#expiresAt) this.end('expired')
    else if (ticks - this.#heardAt > this.#silenceMs) this.end('keepalive')
  }

  resume(): void {
    if (this.isEnded || !this.isPaused || this.#incoming.isFull) return
    this.isPaused = false
    if (!this.#unparsed.isEmpty) this.#process(this.#unparsed.take())
    if (this.isEnded || this.isPaused) return
    if (this.#isPeerGone) this.end('lost')
    else this.#socket.resume()
  }

  forget(): void {
    this.#incoming.forget()
  }

  publishWill(): void {
    this.#incoming.publishWill()
  }

  end(cause: EndCause, explained: ExplainedReason | undefined = reasonOfEnd(cause)): void {
    if (this.isEnded) return
    this.isEnded = true
    if (this.v5Options === undefined || explained === undefined) this.#socket.destroy()
    else {
      this.#socket.off('data', this.#onData).off('end', this.#onPeerEnd).off('close', this.#onPeerEnd)
      this.#hub.closeWith(this.#socket, disconnectV5(explained))
    }
    this.#unparsed.clear()
    this.#incoming.end(cause)
    this.#hub.host.closed(this, cause)
    this.#hub.ended(this)
    this.#outgoing?.end()
  }

  endFrozen(): void {
    this.#hub.cutFrozen++
    // The device reads nothing, so there is no use in telling it why.
    this.#socket.destroy()
    this.end('abuse')
  }

  readonly #onPeerEnd = (): void => {
    // What the device sent before it left is processed first, above all a DISCONNECT.
    if (this.isPaused && !this.#unparsed.isEmpty) this.#isPeerGone = true
    else this.end('lost')
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#hub.bytesIn += chunk.length
    this.#heardAt = this.#hub.tick
    if (this.#unparsed.isEmpty) {
      this.#process(chunk)
      return
    }
    this.#unparsed.add(chunk)
    if (!this.isPaused && this.#unparsed.isWorthParsing) this.#process(this.#unparsed.take())
  }

  #process(bytes: Buffer): void {
    this.#parse(bytes)
    if (this.isEnded) return
    if (this.#incoming.isFull || this.#hub.host.isCongested()) {
      this.isPaused = true
      this.#socket.pause()
      this.#hub.paused(this)
    }
  }

  #parse(bytes: Buffer): void {
    const span = this.#span
    const size = bytes.length
    let at = 0
    while (at < size && !this.#incoming.isFull) {
      const located = locate(bytes, at, span)
      if (located === 'malformed' || span.end - at > LIMITS.packetBytesMax) {
        this.end('abuse', explain(located === 'malformed' ? REASON.malformed : REASON.tooLarge))
        return
      }
      if (located === 'incomplete') {
        this.#unparsed.keep(bytes.subarray(at), span.end === 0 ? 0 : span.end - at)
        return
      }
      if (span.first >>> 4 !== PACKET.publish) {
        if (this.v5Options === undefined) this.#control(bytes, span)
        else this.#controlV5(bytes, span)
      } else if (!this.#incoming.receive(bytes, span)) break
      if (this.isEnded) return
      at = span.end
    }
    if (at < size) this.#unparsed.keep(bytes.subarray(at), 0)
  }

  #control(bytes: Buffer, span: Span): void {
    const { first, bodyStart, end } = span
    const id = end - bodyStart === 2 ? readUint16(bytes, bodyStart) : 0
    const isEmpty = end === bodyStart
    // Compared with its flags: a packet with wrong flags is malformed.
    if (first === PACKET.pingreq << 4 && isEmpty) this.send(PINGRESP)
    else if (first === PACKET.disconnect << 4 && isEmpty) this.end('disconnect')
    else if (ANSWERS.has(first) && id !== 0) this.#outgoing?.acknowledge(first >>> 4, id)
    else if (first === PUBREL && id !== 0) this.#incoming.release(id)
    else if (first === SUBSCRIBE || first === UNSUBSCRIBE) this.#subscription(bytes, span)
    else this.end('abuse')
  }

  #subscription(bytes: Buffer, span: Span): void {
    const withQos = span.first === SUBSCRIBE
    const requests = readFilters(bytes, span, { withQos })
    const id = readUint16(bytes, span.bodyStart)
    if (requests === undefined) this.end('abuse')
    else if (withQos) this.#openOutgoing().subscribe(id, requests)
    else this.#openOutgoing().unsubscribe(id, requests)
  }

  #controlV5(bytes: Buffer, span: Span): void {
    const control = readControlV5(bytes, span)
    switch (control.kind) {
      case 'ping':
        this.send(PINGRESP)
        return
      case 'disconnect':
        this.#disconnect(control)
        return
      case 'answer':
        this.#outgoing?.acknowledge(control.type, control.id, control.reason)
        return
      case 'release':
        this.#incoming.release(control.id)
        return
      case 'subscribe':
        this.#openOutgoing().subscribe(control.id, control.requests)
        return
      case 'unsubscribe':
        this.#openOutgoing().unsubscribe(control.id, control.requests)
        return
      case 'wrong':
        this.end('abuse', control.explained)
        return
      default:
        unreachable(control)
    }
  }

  #disconnect({ isWithWill, expirySec }: Extract<ControlV5, { kind: 'disconnect' }>): void {
    // [MQTT-3.1.2-23] A session that was to end with its connection cannot be extended now.
    const isTooLate = expirySec !== undefined && expirySec > 0 && !this.state.isPersistent
    if (isTooLate) this.end('abuse', explain(REASON.protocolError))
    else {
      if (expirySec !== undefined) this.state.expirySec = toExpirySec(expirySec)
      // A DISCONNECT that asks for the will counts as a lost connection.
      this.end(isWithWill ? 'lost' : 'disconnect')
    }
  }

  #openOutgoing(): Outgoing {
    this.#outgoing ??= new Outgoing(this.#hub, this, this.#socket)
    return this.#outgoing
  }
}
