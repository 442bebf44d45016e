// Messages from one connected device: taken straight from the bytes, handed to the host, and acknowledged once the host
// calls them durable. The device's last will is one of them.
//
// - Nothing is acknowledged before `durable` (R1), and acknowledgements keep the order of the messages.
// I2. The hot path allocates one view per message: no packet object, no topic text, no promise (R12).
// - Every message handed over counts once in `durable`, even after the session has ended.
import { Buffer } from 'node:buffer'
import { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { EndCause } from '../../../ports/broker.ts'
import type { Qos } from '../filters.ts'
import { ACK_DUE, AckRing, HAS_FOLLOW_UP, HAS_REASON } from './ack-ring.ts'
import { isWillPublished, type Will } from './connect.ts'
import { answer } from './encode.ts'
import { answerV5 } from './encode-v5.ts'
import { FollowUps } from './follow-ups.ts'
import { PACKET, readUint16, type Span } from './packets.ts'
import type { Allowance } from './publish-limit.ts'
import { type NamedTopic, type PublishParts, readPublishV5, TopicAliases } from './publish-v5.ts'
import { type ExplainedReason, explain, FAILURE, REASON } from './reasons.ts'
import type { LiveSession, SessionFacts, SessionHub } from './session-hub.ts'
import type { Message } from './session-state.ts'
import { type KnownTopic, TopicCache } from './topic-cache.ts'

/** What a message of MQTT 5 may have in addition to its topic and payload. */
interface V5Extras {
  readonly explained?: ExplainedReason | undefined
  readonly message?: Pick<Message, 'properties' | 'expiresAt'>
}

const NO_EXTRAS: V5Extras = {}

export class Incoming {
  readonly #hub: SessionHub
  readonly #session: LiveSession
  readonly #mayPublish: boolean
  readonly #topics: TopicCache
  readonly #ring = new AckRing()
  readonly #followUps: FollowUps
  readonly #allowance: Allowance | undefined
  /** Reasons for the answers of the slots that are marked `EXPLAINED`, in their order. */
  readonly #reasons: ExplainedReason[] = []
  readonly #aliases = new TopicAliases()
  #will: Will | undefined
  /** True while a message waits because the device is over its publish rate. */
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
      onDone: () => hub.resumePaused(),
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

  /** Takes a PUBLISH. Returns false if it has to wait, together with everything behind it. */
  receive(bytes: Buffer, span: Span): boolean {
    if (this.#allowance?.isSpent !== true) {
      this.#allowance?.take(span.end - span.bodyStart)
      if (this.#session.v5Options === undefined) this.#publish(bytes, span)
      else this.#publishV5(bytes, span)
    } else if ((span.first & 6) === 0) this.#hub.shedQos0++
    else this.#isSlowed = true
    return !this.#isSlowed
  }

  /** Called as time passes: the device may be allowed to publish again. */
  recheckRate(): void {
    if (this.#allowance?.isSpent !== true) this.#isSlowed = false
  }

  durable(count: number): void {
    let acks = Buffer.allocUnsafe(count * 4)
    let length = 0
    for (let index = 0; index < count; index++) {
      const slot = this.#ring.shift()
      const id = slot & 0xffff
      const isOwed = (slot & ACK_DUE.pubrec) !== 0 ? this.#settleQos2(id) : (slot & ACK_DUE.puback) !== 0
      if ((slot & HAS_REASON) !== 0) {
        if (length > 0) this.#session.send(acks.subarray(0, length))
        acks = Buffer.allocUnsafe(count * 4)
        length = 0
        this.#answerWithReason(slot, isOwed)
      } else if (isOwed) {
        acks[length] = (slot & ACK_DUE.pubrec) !== 0 ? PACKET.pubrec << 4 : PACKET.puback << 4
        acks[length + 1] = 2
        acks[length + 2] = id >>> 8
        acks[length + 3] = id & 0xff
        length += 4
      }
      if ((slot & HAS_FOLLOW_UP) !== 0) this.#followUps.begin()
    }
    if (length > 0) this.#session.send(length === acks.length ? acks : acks.subarray(0, length))
  }

  /** Answers a PUBREL. */
  release(id: number): void {
    const isKnown = this.#session.state.unreleased.release(id)
    const needsReason = this.#session.v5Options !== undefined && !isKnown
    const unknown = { reason: REASON.unknownId }
    this.#session.send(needsReason ? answerV5(PACKET.pubcomp, id, unknown) : answer(PACKET.pubcomp, id))
  }

  /** Publishes the last will, if there is one and the cause calls for it. */
  end(cause: EndCause): void {
    const { isPersistent, expirySec } = this.#session.state
    if (this.#will === undefined || !isWillPublished(cause)) this.#will = undefined
    else if (isPersistent && (this.#will.delaySec ?? 0) > 0)
      this.#hub.delayWill(this.#session, Math.min(this.#will.delaySec ?? 0, expirySec))
    else this.publishWill()
  }

  /** Publishes the last will, if there still is one. */
  publishWill(): void {
    if (this.#will !== undefined) this.#publishWill(this.#will)
    this.#will = undefined
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
      if (topic === undefined)
        this.#refuseTopic(bytes.subarray(bodyStart + 2, topicEnd), bytes.subarray(payloadStart, end))
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

  #publishV5(bytes: Buffer, span: Span): void {
    const parts = readPublishV5(bytes, span)
    if (typeof parts === 'number') {
      this.#session.end('abuse', explain(parts))
      return
    }
    const topic = this.#nameTopic(bytes, parts)
    if (topic === undefined) return
    // 3 is refused.
    const qos = ((span.first >>> 1) & 3) as Qos
    const { id, payloadStart, expirySec, properties } = parts
    if (qos === 2 && !this.#isNewQos2(id)) return
    const payload = bytes.subarray(payloadStart, span.end)
    if (typeof topic === 'string') {
      this.#refuseMessage(topic, payload, { qos, id })
      return
    }
    const { message, host } = this.#hub
    message.qos = qos
    message.retain = (span.first & 1) !== 0 && topic.isRetainable
    message.suffix = topic.suffix
    message.payload = payload
    message.will = false
    const fault = qos === 0 ? undefined : host.judge?.(topic.suffix, payload)
    const reason = fault?.kind === 'topic' ? REASON.badTopic : REASON.badFormat
    const expiresAt = expirySec === undefined ? undefined : Millis(this.#hub.now() + expirySec * 1000)
    this.#handOver(topic, id, span.end - span.bodyStart, {
      explained: fault && { reason, text: fault.text },
      message: { properties, expiresAt },
    })
  }

  /** Finds the topic by its name or alias. Undefined if an invalid one has ended the session. */
  #nameTopic(bytes: Buffer, { topicStart, topicEnd, alias }: PublishParts): NamedTopic | undefined {
    const isNamed = topicEnd > topicStart
    const named = isNamed
      ? (this.#topics.find(bytes, topicStart, topicEnd) ?? this.#topics.nameOf(bytes, topicStart, topicEnd))
      : this.#aliases.get(alias)
    if (named === undefined) {
      if (isNamed) this.#hub.refusedTopics++
      this.#session.end('abuse', explain(isNamed ? REASON.badTopic : REASON.badAlias))
      return undefined
    }
    if (isNamed) this.#aliases.set(alias, named)
    if (this.#mayPublish) return named
    this.#hub.refusedTopics++
    this.#hub.host.refused(this.#session, 'publish')
    this.#session.end('abuse', { reason: REASON.notAuthorized, text: 'the token grants no publishing' })
    return undefined
  }

  #refuseTopic(topic: Buffer, payload: Uint8Array): void {
    this.#hub.refusedTopics++
    const message = { topic: topic.toString('utf8', 0, LIMITS.topicBytesMax), payload }
    this.#hub.host.refused(this.#session, 'publish', this.#mayPublish ? message : undefined)
  }

  /** Answers a message outside the device's topics with a reason, in order with the other answers. */
  #refuseMessage(
    topic: string,
    payload: Uint8Array,
    { qos, id }: { readonly qos: Qos; readonly id: number },
  ): void {
    const { host } = this.#hub
    this.#hub.refusedTopics++
    host.refused(this.#session, 'publish', { topic, payload })
    if (qos === 0) return
    this.#reasons.push(explain(REASON.notAuthorized))
    this.#ring.push((qos === 1 ? ACK_DUE.puback : ACK_DUE.pubrec) | HAS_REASON | id, payload.length)
    host.sync(this.#session)
  }

  #answerWithReason(slot: number, isOwed: boolean): void {
    const explained = this.#reasons.shift()
    if (explained === undefined) return
    const id = slot & 0xffff
    const isQos2 = (slot & ACK_DUE.pubrec) !== 0
    // A refused message of QoS 2 is finished: its id is free.
    if (isQos2 && explained.reason >= FAILURE) this.#session.state.unreleased.release(id)
    const { reason, text } = explained
    const visible = this.#session.v5Options?.wantsReasons === true ? { reason, text } : { reason }
    if (isOwed) this.#session.send(answerV5(isQos2 ? PACKET.pubrec : PACKET.puback, id, visible))
  }

  #handOver(topic: KnownTopic, id: number, size: number, extras: V5Extras = NO_EXTRAS): void {
    const { message, publishes, host } = this.#hub
    const { filters } = this.#session.state
    const { qos } = message
    publishes[qos]++
    let slot = qos === 0 ? ACK_DUE.nothing : qos === 1 ? ACK_DUE.puback | id : ACK_DUE.pubrec | id
    if (extras.explained !== undefined) {
      slot |= HAS_REASON
      this.#reasons.push(extras.explained)
    }
    if (message.retain || (filters.size > 0 && topic.isEchoed(filters))) {
      slot |= HAS_FOLLOW_UP
      this.#followUps.add({
        suffix: topic.suffix,
        payload: Buffer.from(message.payload),
        qos,
        retain: message.retain,
        isOwn: true,
        ...extras.message,
      })
    }
    this.#ring.push(slot, size)
    host.uplink(this.#session, message)
  }

  #isNewQos2(id: number): boolean {
    const repeat = this.#session.state.unreleased.receive(id)
    // If the message is not durable yet, its repeat is answered once it is.
    if (repeat === 'durable') this.#session.send(answer(PACKET.pubrec, id))
    else if (repeat === 'full') this.#session.end('abuse', explain(REASON.receiveMax))
    return repeat === 'new'
  }

  /** True if the PUBREC is to be written to this connection. */
  #settleQos2(id: number): boolean {
    const { state, isEnded, deviceId } = this.#session
    const isRepeated = state.unreleased.settle(id)
    if (!isEnded) return true
    // The device may have reconnected in the meantime and sent the message again there.
    const live = isRepeated ? this.#hub.liveSession(deviceId) : undefined
    if (live?.state === state) live.send(answer(PACKET.pubrec, id))
    return false
  }

  #publishWill(will: Will): void {
    const { message, host, publishes } = this.#hub
    const { suffix, payload, qos, retain, forwarded, expirySec } = will
    const { isPersistent, filters } = this.#session.state
    const hasFollowUp = retain || (isPersistent && filters.qosFor(suffix) >= 0)
    const expiresAt = expirySec === undefined ? undefined : Millis(this.#hub.now() + expirySec * 1000)
    if (hasFollowUp)
      this.#followUps.add({
        suffix,
        payload: Buffer.from(payload),
        qos,
        retain,
        properties: forwarded,
        expiresAt,
      })
    publishes[qos]++
    this.#ring.push(hasFollowUp ? HAS_FOLLOW_UP : ACK_DUE.nothing, payload.length)
    Object.assign(message, { suffix, payload, qos, retain, will: true })
    host.uplink(this.#session, message)
  }
}
