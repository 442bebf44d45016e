// Messages to one connected device: what it subscribes to, what it is sent, and what it acknowledges.
//
// O1. Messages leave in the order in which they were published [MQTT-4.6.0-6]. One that finds the socket full waits, and
//     so do all that follow it.
// - The socket holds little more than one packet. What waits for it is bounded (R9): a device that takes nothing is cut.
// O3. A publish resolves true at PUBACK or PUBCOMP (QoS 0: once written), and false when the connection ends before.
import { topicOf } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import { answer, publish } from './encode.ts'
import { answerV5, publishV5 } from './encode-v5.ts'
import { type FilterRequest, PACKET } from './packets.ts'
import type { Peer } from './peer.ts'
import { FAILURE, REASON } from './reasons.ts'
import type { LiveSession, SessionHub } from './session-hub.ts'
import { type Delivery, type Message, sizeOf } from './session-state.ts'
import { subscribe, unsubscribe } from './subscriptions.ts'

export class Outgoing {
  readonly #hub: SessionHub
  readonly #session: LiveSession
  readonly #socket: Peer
  /** Deliveries that the socket has not accepted yet (O1). */
  #waiting: Delivery[] = []
  #waitingBytes = 0
  /** Packet ids of MQTT 5 that are sent over this connection and not acknowledged [MQTT-3.3.4-9]. */
  readonly #inFlight = new Set<number>()
  /** Bytes allowed to wait beyond the usual bound, because a new connection or subscription is owed them all at once. */
  #burstBytes = 0

  constructor(hub: SessionHub, session: LiveSession, socket: Peer) {
    this.#hub = hub
    this.#session = session
    this.#socket = socket
    socket.on('drain', () => this.#sendWaiting())
  }

  /** Sends what an earlier connection left unacknowledged, and what has arrived since [MQTT-4.4.0-1]. */
  resume(): void {
    this.#sendAtOnce(this.#session.state.resume())
  }

  /** See O3. */
  publish(message: Message): Promise<boolean> {
    const { state, isEnded } = this.#session
    return new Promise((resolve) => {
      const delivery = state.acceptPublished(message, resolve)
      if (delivery === undefined || isEnded) resolve(false)
      else {
        this.#enqueue(delivery)
        this.#sendWaiting()
      }
    })
  }

  /** Answers, then sends what is retained on the filters that are granted. */
  subscribe(id: number, requests: readonly FilterRequest[]): void {
    const { state } = this.#session
    const retained = subscribe(this.#hub, this.#session, { id, requests })
    if (retained === undefined) return
    this.#sendAtOnce([...retained].flatMap((message) => state.accept({ ...message, isOwn: false }) ?? []))
    if (!this.#session.isEnded) this.#hub.host.subscribed(this.#session)
  }

  unsubscribe(id: number, requests: readonly FilterRequest[]): void {
    unsubscribe(this.#session, { id, requests })
    if (!this.#session.isEnded) this.#hub.host.subscribed(this.#session)
  }

  /** `type`: PUBACK, PUBREC or PUBCOMP. `reason`: the result, which only MQTT 5 has. */
  acknowledge(type: number, id: number, reason: number = REASON.success): void {
    const { state } = this.#session
    const isFailed = reason >= FAILURE
    if (type !== PACKET.pubrec || isFailed) {
      state.settle(id, !isFailed)
      this.#inFlight.delete(id)
      this.#sendWaiting()
      return
    }
    const delivery = state.unacknowledged.get(id)
    if (delivery !== undefined) {
      delivery.isReleased = true
      // Kept even if the message is not sent again: the device holds the id until it is released [MQTT-4.3.3-1].
      state.keep(delivery)
    }
    const needsReason = delivery === undefined && this.#session.v5Options !== undefined
    const unknown = { reason: REASON.unknownId }
    this.#session.send(needsReason ? answerV5(PACKET.pubrel, id, unknown) : answer(PACKET.pubrel, id))
  }

  /** Called when the connection is over. What the device has not acknowledged counts as not delivered (O3). */
  end(): void {
    for (const delivery of this.#session.state.unacknowledged.values()) delivery.settle?.(false)
    for (const delivery of this.#waiting) delivery.settle?.(false)
    this.#waiting = []
  }

  #sendAtOnce(deliveries: readonly Delivery[]): void {
    // Granted only if nothing waits, so that a device cannot gain ever more room by subscribing again and again.
    if (this.#waiting.length === 0) this.#burstBytes = deliveries.reduce((sum, next) => sum + sizeOf(next), 0)
    for (const delivery of deliveries) this.#enqueue(delivery)
    this.#sendWaiting()
  }

  #enqueue(delivery: Delivery): void {
    if (this.#session.isEnded) return
    this.#waiting.push(delivery)
    this.#waitingBytes += sizeOf(delivery)
    if (this.#waitingBytes > LIMITS.sessionOutBytesMax + this.#burstBytes) this.#session.endFrozen()
  }

  #sendWaiting(): void {
    const waiting = this.#waiting
    if (waiting.length === 0) return
    let sent = 0
    this.#socket.cork()
    for (const delivery of waiting) {
      if (this.#session.isEnded || !this.#hasRoomFor(delivery)) break
      sent++
      this.#waitingBytes -= sizeOf(delivery)
      this.#send(delivery)
    }
    this.#socket.uncork()
    waiting.splice(0, sent)
    if (waiting.length === 0) this.#burstBytes = 0
  }

  #hasRoomFor({ qos, id, isReleased }: Delivery): boolean {
    if (this.#socket.writableNeedDrain) return false
    if (qos === 0 || isReleased) return true
    const { v5Options, state } = this.#session
    if (id === 0 && state.unacknowledged.size >= LIMITS.sessionUnackedMax) return false
    return this.#inFlight.size < (v5Options?.receiveMax ?? Number.POSITIVE_INFINITY)
  }

  #send(delivery: Delivery): void {
    const { deviceId, state, v5Options } = this.#session
    const isDup = delivery.id !== 0
    // The device acknowledged it while it waited to be sent again.
    if (isDup && state.unacknowledged.get(delivery.id) !== delivery) return
    if (delivery.isReleased) {
      this.#session.send(answer(PACKET.pubrel, delivery.id))
      return
    }
    const leftMs = delivery.expiresAt === undefined ? undefined : delivery.expiresAt - this.#hub.now()
    if (leftMs !== undefined && leftMs <= 0) {
      state.discard(delivery)
      return
    }
    if (delivery.qos > 0 && !isDup) state.assignId(delivery)
    const fields = { ...delivery, topic: topicOf(deviceId, delivery.suffix), isDup }
    const packet = v5Options === undefined ? publish(fields) : publishV5(this.#toV5(fields, leftMs))
    // [MQTT-3.1.2-25] Counts as sent, because it will never fit.
    if (packet.length > (v5Options?.packetBytesMax ?? packet.length)) {
      state.discard(delivery)
      return
    }
    this.#session.send(packet)
    if (v5Options !== undefined && delivery.qos > 0) this.#inFlight.add(delivery.id)
    if (delivery.qos === 0) delivery.settle?.(!this.#session.isEnded)
  }

  #toV5<Fields extends Delivery>(fields: Fields, leftMs: number | undefined) {
    const { properties, request } = fields
    return {
      ...fields,
      properties,
      expirySec: leftMs === undefined ? undefined : Math.max(1, Math.floor(leftMs / 1000)),
      request: request && {
        topic: topicOf(this.#session.deviceId, request.suffix),
        correlation: request.correlation,
      },
    }
  }
}
