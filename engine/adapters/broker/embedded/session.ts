// One admitted device on its socket: takes its publishes straight from the bytes, hands them to the host, and
// acknowledges what the host says is durable. Not its job: admission (embedded.ts), downlinks (aedes, behind a wire).
//
// S1. Nothing is acknowledged before `durable` (R1), and everything is in the order it was sent.
// S2. The hot path allocates one view per message: no packet object, no topic text, no promise (R12).
// S3. What is read and not yet durable is bounded; beyond, the socket is not read (R9).
// S4. `durable` is answered for every message ever handed over, also after the session has ended.
// S5. Bytes of a device never throw; what MQTT has no error for ends the connection.
import { Buffer } from 'node:buffer'
import type { DeviceId, Micros, Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { DeviceSession, EndCause } from '../../../ports/broker.ts'
import type { Qos } from '../filters.ts'
import { AckRing, FOLLOWED, OWES } from './ack-ring.ts'
import { Carry } from './carry.ts'
import { isWillSpoken, type Will } from './connect.ts'
import { FollowUps } from './follow-ups.ts'
import { answer, isSubscription, locate, PACKET, PINGRESP, readUint16, type Span } from './packets.ts'
import type { Peer } from './peer.ts'
import type { Allowance } from './publish-limit.ts'
import type { SessionFacts, SessionHub } from './session-hub.ts'
import type { SessionState } from './session-state.ts'
import { type KnownTopic, TopicCache } from './topic-cache.ts'
import type { Subscriber, Wire } from './wire.ts'

const PUBREL = (PACKET.pubrel << 4) | 2
const SUBSCRIBE = (PACKET.subscribe << 4) | 2
const UNSUBSCRIBE = (PACKET.unsubscribe << 4) | 2
/** To our downlinks. */
const ANSWERS: ReadonlySet<number> = new Set([PACKET.puback << 4, PACKET.pubrec << 4, PACKET.pubcomp << 4])

export class Session implements DeviceSession, Subscriber {
  readonly deviceId: DeviceId
  readonly partition: Partition
  readonly number: Micros
  readonly ip: string
  readonly idBytes: Uint8Array
  readonly maySubscribe: boolean
  readonly state: SessionState
  readonly expiresAt: number
  isEnded = false
  isPaused = false
  heardAt: number
  wire: Wire | undefined

  readonly #hub: SessionHub
  readonly #socket: Peer
  readonly #mayPublish: boolean
  readonly #silenceMs: number
  readonly #topics: TopicCache
  readonly #ring = new AckRing()
  readonly #span: Span = { first: 0, bodyStart: 0, end: 0 }
  readonly #carry = new Carry()
  #will: Will | undefined
  readonly #followUps: FollowUps
  readonly #allowance: Allowance | undefined
  #isSlowed = false
  #isWireStalled = false
  #isPeerGone = false
  #burstBytes = 0

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
    this.expiresAt = facts.expiresAt
    this.heardAt = hub.tick
    this.#mayPublish = facts.mayPublish
    this.#silenceMs = facts.keepAliveMs * 1.5 + LIMITS.brokerSweepEveryMs
    this.#will = facts.will
    this.#topics = new TopicCache(facts.deviceId)
    this.#allowance = facts.allowance
    this.#followUps = new FollowUps({
      perform: (followUp) => hub.follow(facts.deviceId, followUp),
      relieved: () => hub.relieved(),
    })
  }

  /** Messages handed over and not yet durable. */
  get pending(): number {
    return this.#ring.count
  }

  /** Sends the CONNACK and starts to read; `rest` came with the CONNECT. */
  open(connack: Uint8Array, rest: Buffer): void {
    const socket = this.#socket
    socket.on('data', this.#read)
    socket.on('end', this.#lost)
    socket.on('close', this.#lost)
    this.send(connack)
    if (this.state.isPersistent && this.state.filters.size > 0) this.wire = this.#hub.attach(this)
    if (this.state.filters.size > 0) this.subscribed()
    if (rest.length > 0) this.#read(rest)
    if (!this.isPaused) socket.resume()
  }

  durable(count: number): void {
    const acks = Buffer.allocUnsafe(count * 4)
    let length = 0
    for (let index = 0; index < count; index++) {
      const slot = this.#ring.shift()
      const id = slot & 0xffff
      const isOwed = (slot & OWES.pubrec) !== 0 ? this.#settleQos2(id) : (slot & OWES.puback) !== 0
      if (isOwed) {
        acks[length] = (slot & OWES.pubrec) !== 0 ? PACKET.pubrec << 4 : PACKET.puback << 4
        acks[length + 1] = 2
        acks[length + 2] = id >>> 8
        acks[length + 3] = id & 0xff
        length += 4
      }
      if ((slot & FOLLOWED) !== 0) this.#followUps.begin()
    }
    if (length > 0) this.send(length === acks.length ? acks : acks.subarray(0, length))
    if (this.isEnded && this.#ring.count === 0) this.#hub.ended(this)
    this.#hub.relieved()
  }

  send(bytes: Uint8Array): void {
    if (this.isEnded) return
    const { writableLength } = this.#socket
    if (writableLength === 0) this.#burstBytes = 0
    else if (writableLength > LIMITS.sessionOutBytesMax + this.#burstBytes) {
      this.#hub.cutFrozen++
      this.end('abuse')
      return
    }
    this.#socket.write(bytes)
  }

  allowBurst(bytes: number): void {
    this.#burstBytes += bytes
  }

  fed(): void {
    this.#isWireStalled = false
    this.#hub.relieved()
  }

  refused(wanted: 'publish' | 'subscribe'): void {
    this.#hub.host.refused(this, wanted)
  }

  subscribed(): void {
    if (!this.isEnded) this.#hub.host.subscribed(this)
  }

  takes(suffix: string): boolean {
    return !this.isEnded && this.state.filters.qosFor(suffix) >= 0
  }

  /** Ends it for what the clock says. `asleepMs`: the time in which the whole process read nothing. */
  sweep(ticks: number, now: number, asleepMs: number): void {
    if (this.isPaused) this.heardAt = ticks
    else this.heardAt += asleepMs
    if (this.#allowance?.isSpent !== true) this.#isSlowed = false
    if (now >= this.expiresAt) this.end('expired')
    else if (ticks - this.heardAt > this.#silenceMs) this.end('keepalive')
  }

  /** Reads on, if nothing speaks against it. */
  resume(): void {
    if (this.isEnded || !this.isPaused || this.#mustWait()) return
    this.isPaused = false
    if (!this.#carry.isEmpty) this.#take(this.#carry.take())
    if (this.isEnded || this.isPaused) return
    if (this.#isPeerGone) this.end('lost')
    else this.#socket.resume()
  }

  /** Nothing is kept for the device any more: neither its will nor what follows once messages are durable. */
  forget(): void {
    this.#will = undefined
    this.#followUps.forget()
  }

  end(cause: EndCause): void {
    if (this.isEnded) return
    this.isEnded = true
    this.#socket.destroy()
    this.#carry.clear()
    if (this.#will !== undefined && isWillSpoken(cause)) this.#speakWill(this.#will)
    this.#hub.host.closed(this, cause)
    this.#hub.ended(this)
    this.wire?.destroy()
  }

  readonly #lost = (): void => {
    // What the device said before it left is heard first, a goodbye above all.
    if (this.isPaused && !this.#carry.isEmpty) this.#isPeerGone = true
    else this.end('lost')
  }

  readonly #read = (chunk: Buffer): void => {
    this.#hub.bytesIn += chunk.length
    this.heardAt = this.#hub.tick
    if (this.#carry.isEmpty) {
      this.#take(chunk)
      return
    }
    this.#carry.add(chunk)
    if (!this.isPaused && this.#carry.isWorthParsing) this.#take(this.#carry.take())
  }

  #take(bytes: Buffer): void {
    this.#parse(bytes)
    if (this.isEnded) return
    if (this.#mustWait() || this.#hub.host.isCongested()) {
      this.isPaused = true
      this.#socket.pause()
      this.#hub.paused(this)
    }
  }

  #parse(bytes: Buffer): void {
    const span = this.#span
    const size = bytes.length
    let at = 0
    while (at < size && !this.#mustWait()) {
      const located = locate(bytes, at, span)
      if (located === 'malformed' || span.end - at > LIMITS.packetBytesMax) {
        this.end('abuse')
        return
      }
      if (located === 'incomplete') {
        this.#carry.keep(bytes.subarray(at), span.end === 0 ? 0 : span.end - at)
        return
      }
      if (span.first >>> 4 !== PACKET.publish) this.#control(bytes, span, at)
      else if (this.#isInTime(span.first)) this.#publish(bytes, span)
      if (this.isEnded) return
      if (!this.#isSlowed) at = span.end
    }
    if (at < size) this.#carry.keep(bytes.subarray(at), 0)
  }

  #mustWait(): boolean {
    return (
      this.#ring.count >= LIMITS.sessionPendingMax ||
      this.#ring.bytes >= LIMITS.sessionPendingBytesMax ||
      this.#followUps.isFull ||
      this.#isWireStalled ||
      this.#isSlowed
    )
  }

  /** A message over the device's rate: of QoS 0 it is shed, of the others it waits, and with it what comes after. */
  #isInTime(first: number): boolean {
    const allowance = this.#allowance
    if (allowance === undefined) return true
    if (!allowance.isSpent) {
      allowance.take()
      return true
    }
    if ((first & 6) === 0) this.#hub.shedQos0++
    else this.#isSlowed = true
    return false
  }

  #publish(bytes: Buffer, { first, bodyStart, end }: Span): void {
    const qos = (first >>> 1) & 3
    const topicEnd = bodyStart + 2 + readUint16(bytes, bodyStart)
    const payloadStart = qos === 0 ? topicEnd : topicEnd + 2
    if (qos === 3 || payloadStart > end || end - payloadStart > LIMITS.payloadBytesMax) {
      this.end('abuse')
      return
    }
    const topic = this.#mayPublish ? this.#topics.find(bytes, bodyStart + 2, topicEnd) : undefined
    const id = qos === 0 ? 0 : readUint16(bytes, topicEnd)
    if (topic === undefined || (qos !== 0 && id === 0)) {
      if (topic === undefined) {
        this.#hub.refusedTopics++
        this.refused('publish')
      }
      this.end('abuse')
      return
    }
    if (qos === 2 && !this.#isNewQos2(id)) return
    const { message } = this.#hub
    // Checked above: 3 is refused.
    message.qos = qos as Qos
    message.retain = (first & 1) !== 0 && topic.isRetainable
    message.suffix = topic.suffix
    message.payload = bytes.subarray(payloadStart, end)
    message.will = false
    this.#handOver(topic, id, end - bodyStart)
  }

  #handOver(topic: KnownTopic, id: number, size: number): void {
    const { message, publishes, host } = this.#hub
    const { qos } = message
    publishes[qos]++
    let slot = qos === 0 ? OWES.nothing : qos === 1 ? OWES.puback | id : OWES.pubrec | id
    if (message.retain || (this.state.filters.size > 0 && topic.isEchoed(this.state.filters))) {
      slot |= FOLLOWED
      this.#followUps.add({
        suffix: topic.suffix,
        payload: Buffer.from(message.payload),
        qos,
        retain: message.retain,
      })
    }
    this.#ring.push(slot, size)
    host.uplink(this, message)
  }

  #control(bytes: Buffer, span: Span, at: number): void {
    const { first, bodyStart, end } = span
    const id = end - bodyStart === 2 ? readUint16(bytes, bodyStart) : 0
    const isEmpty = end === bodyStart
    // By type and flags: a packet with wrong flags is no packet.
    if (first === PACKET.pingreq << 4 && isEmpty) this.send(PINGRESP)
    else if (first === PACKET.disconnect << 4 && isEmpty) this.end('disconnect')
    else if (ANSWERS.has(first) && id !== 0) this.#answered(bytes.subarray(at, end), id)
    else if (first === PUBREL && id !== 0) this.#released(id)
    else if (first === SUBSCRIBE && isSubscription(bytes, span, true)) this.#feed(bytes.subarray(at, end))
    else if (first === UNSUBSCRIBE && isSubscription(bytes, span, false)) this.#feed(bytes.subarray(at, end))
    else this.end('abuse')
  }

  #feed(packet: Buffer): void {
    this.wire ??= this.#hub.attach(this)
    // A copy: the stream keeps it beyond this call.
    this.#isWireStalled = !this.wire.feed(Buffer.from(packet))
  }

  #answered(packet: Buffer, id: number): void {
    if (this.wire === undefined) return
    if (packet[0] === PACKET.pubrec << 4) this.wire.receipted(id)
    else this.wire.acked(id)
    this.#feed(packet)
  }

  #isNewQos2(id: number): boolean {
    const repeat = this.state.unreleased.take(id)
    // A repeat of one not yet durable is answered when it is.
    if (repeat === 'durable') this.send(answer(PACKET.pubrec, id))
    else if (repeat === 'full') this.end('abuse')
    return repeat === 'new'
  }

  /** True when the PUBREC is to be written to this connection. */
  #settleQos2(id: number): boolean {
    const isRepeated = this.state.unreleased.settle(id)
    if (!this.isEnded) return true
    // The device may have come back meanwhile and sent it again there.
    const live = isRepeated ? this.#hub.liveSession(this.deviceId) : undefined
    if (live?.state === this.state) live.send(answer(PACKET.pubrec, id))
    return false
  }

  #released(id: number): void {
    this.state.unreleased.release(id)
    this.send(answer(PACKET.pubcomp, id))
  }

  #speakWill(will: Will): void {
    const { message, host, publishes } = this.#hub
    const { suffix, payload, qos, retain } = will
    const isFollowed = retain || (this.state.isPersistent && this.state.filters.qosFor(suffix) >= 0)
    if (isFollowed) this.#followUps.add({ suffix, payload: Buffer.from(payload), qos, retain })
    publishes[qos]++
    this.#ring.push(isFollowed ? FOLLOWED : OWES.nothing, payload.length)
    Object.assign(message, { suffix, payload, qos, retain, will: true })
    host.uplink(this, message)
  }
}
