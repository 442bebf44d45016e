// Messages from one connected device: taken straight from the bytes, handed to the host, and acknowledged once the host
// calls them durable. The device's last will is one of them.
//
// I1. Nothing is acknowledged before `durable` (R1), and everything is in the order in which it was sent.
// I2. The hot path allocates one view per message: no packet object, no topic text, no promise (R12).
// I3. Every message handed over takes one count of `durable`, also after the session has ended.
import { Buffer } from 'node:buffer'
import { LIMITS } from '../../../limits.ts'
import type { EndCause } from '../../../ports/broker.ts'
import type { Qos } from '../filters.ts'
import { AckRing, FOLLOWED, OWES } from './ack-ring.ts'
import { isWillPublished, type Will } from './connect.ts'
import { answer } from './encode.ts'
import { FollowUps } from './follow-ups.ts'
import { PACKET, readUint16, type Span } from './packets.ts'
import type { Allowance } from './publish-limit.ts'
import type { LiveSession, SessionFacts, SessionHub } from './session-hub.ts'
import { type KnownTopic, TopicCache } from './topic-cache.ts'

export class Incoming {
  readonly #hub: SessionHub
  readonly #session: LiveSession
  readonly #mayPublish: boolean
  readonly #topics: TopicCache
  readonly #ring = new AckRing()
  readonly #followUps: FollowUps
  readonly #allowance: Allowance | undefined
  #will: Will | undefined
  /** True while a message waits for the device's publish rate. */
  #isSlowed = false

  constructor(hub: SessionHub, session: LiveSession, facts: SessionFacts) {
    this.#hub = hub
    this.#session = session
    this.#mayPublish = facts.mayPublish
    this.#topics = new TopicCache(facts.deviceId)
    this.#allowance = facts.allowance
    this.#will = facts.will
    this.#followUps = new FollowUps({
      publish: (message) => hub.publish(facts.deviceId, message),
      relieved: () => hub.relieved(),
    })
  }

  /** Messages handed over and not yet durable. */
  get pending(): number {
    return this.#ring.count
  }

  /** True while no more messages may be taken. */
  get isFull(): boolean {
    return (
      this.#ring.count >= LIMITS.sessionPendingMax ||
      this.#ring.bytes >= LIMITS.sessionPendingBytesMax ||
      this.#followUps.isFull ||
      this.#isSlowed
    )
  }

  /** Takes a PUBLISH. False if it has to wait, together with everything behind it. */
  take(bytes: Buffer, span: Span): boolean {
    if (this.#allowance?.isSpent !== true) {
      this.#allowance?.take(span.end - span.bodyStart)
      this.#publish(bytes, span)
    } else if ((span.first & 6) === 0) this.#hub.shedQos0++
    else this.#isSlowed = true
    return !this.#isSlowed
  }

  /** Called as time passes: the device may be allowed to publish again. */
  proceed(): void {
    if (this.#allowance?.isSpent !== true) this.#isSlowed = false
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
    if (length > 0) this.#session.send(length === acks.length ? acks : acks.subarray(0, length))
  }

  /** Answers a PUBREL. */
  release(id: number): void {
    this.#session.state.unreleased.release(id)
    this.#session.send(answer(PACKET.pubcomp, id))
  }

  /** Publishes the last will, if there is one and the cause calls for it. */
  end(cause: EndCause): void {
    if (this.#will !== undefined && isWillPublished(cause)) this.#publishWill(this.#will)
  }

  /** Drops the will, and messages that would be retained or echoed once durable. */
  forget(): void {
    this.#will = undefined
    this.#followUps.forget()
  }

  #publish(bytes: Buffer, { first, bodyStart, end }: Span): void {
    const qos = (first >>> 1) & 3
    const topicEnd = bodyStart + 2 + readUint16(bytes, bodyStart)
    const payloadStart = qos === 0 ? topicEnd : topicEnd + 2
    if (qos === 3 || payloadStart > end || end - payloadStart > LIMITS.payloadBytesMax) {
      this.#session.end('abuse')
      return
    }
    const topic = this.#mayPublish ? this.#topics.find(bytes, bodyStart + 2, topicEnd) : undefined
    const id = qos === 0 ? 0 : readUint16(bytes, topicEnd)
    if (topic === undefined || (qos !== 0 && id === 0)) {
      if (topic === undefined) {
        this.#hub.refusedTopics++
        this.#hub.host.refused(this.#session, 'publish')
      }
      this.#session.end('abuse')
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
    const { filters } = this.#session.state
    const { qos } = message
    publishes[qos]++
    let slot = qos === 0 ? OWES.nothing : qos === 1 ? OWES.puback | id : OWES.pubrec | id
    if (message.retain || (filters.size > 0 && topic.isEchoed(filters))) {
      slot |= FOLLOWED
      this.#followUps.add({
        suffix: topic.suffix,
        payload: Buffer.from(message.payload),
        qos,
        retain: message.retain,
      })
    }
    this.#ring.push(slot, size)
    host.uplink(this.#session, message)
  }

  #isNewQos2(id: number): boolean {
    const repeat = this.#session.state.unreleased.take(id)
    // A repeat of a message that is not durable yet is answered once it is.
    if (repeat === 'durable') this.#session.send(answer(PACKET.pubrec, id))
    else if (repeat === 'full') this.#session.end('abuse')
    return repeat === 'new'
  }

  /** True when the PUBREC is to be written to this connection. */
  #settleQos2(id: number): boolean {
    const { state, isEnded, deviceId } = this.#session
    const isRepeated = state.unreleased.settle(id)
    if (!isEnded) return true
    // The device may have come back meanwhile and sent it again there.
    const live = isRepeated ? this.#hub.liveSession(deviceId) : undefined
    if (live?.state === state) live.send(answer(PACKET.pubrec, id))
    return false
  }

  #publishWill(will: Will): void {
    const { message, host, publishes } = this.#hub
    const { suffix, payload, qos, retain } = will
    const { isPersistent, filters } = this.#session.state
    const isFollowed = retain || (isPersistent && filters.qosFor(suffix) >= 0)
    if (isFollowed) this.#followUps.add({ suffix, payload: Buffer.from(payload), qos, retain })
    publishes[qos]++
    this.#ring.push(isFollowed ? FOLLOWED : OWES.nothing, payload.length)
    Object.assign(message, { suffix, payload, qos, retain, will: true })
    host.uplink(this.#session, message)
  }
}
