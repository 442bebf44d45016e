// Messages to one connected device: what it subscribes to, what it is sent, and what it acknowledges.
//
// O1. Messages leave in the order in which they were published [MQTT-4.6.0-6]. One that finds the socket full waits, and
//     so do all that follow it.
// O2. The socket holds little more than one packet. What waits for it is bounded (R9): a device that takes nothing is cut.
// O3. A publish resolves true at PUBACK or PUBCOMP (QoS 0: once written), and false when the connection ends before.
import { suffixOf, topicOf } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import { answer, publish, SUBACK_REFUSED, suback } from './encode.ts'
import { type FilterRequest, PACKET } from './packets.ts'
import type { Peer } from './peer.ts'
import type { LiveSession, SessionHub } from './session-hub.ts'
import { type Delivery, type Message, sizeOf } from './session-state.ts'

export class Outgoing {
  readonly #hub: SessionHub
  readonly #session: LiveSession
  readonly #socket: Peer
  /** Deliveries that the socket has yet to take (O1). */
  #waiting: Delivery[] = []
  #waitingBytes = 0
  /** Bytes that may wait beyond the usual bound, because a new connection or subscription is owed them all at once. */
  #burstBytes = 0

  constructor(hub: SessionHub, session: LiveSession, socket: Peer) {
    this.#hub = hub
    this.#session = session
    this.#socket = socket
    socket.on('drain', () => this.#sendWaiting())
  }

  /** Sends again what an earlier connection left unacknowledged, and what came since [MQTT-4.4.0-1]. */
  resume(): void {
    this.#sendAtOnce(this.#session.state.resume())
  }

  /** See O3. */
  publish(message: Message): Promise<boolean> {
    const { state, isEnded } = this.#session
    return new Promise((resolve) => {
      // The flag is for what a new subscription finds [MQTT-3.3.1-9].
      const delivery = state.accept({ ...message, retain: false }, resolve)
      if (delivery === undefined || isEnded) resolve(false)
      else {
        this.#wait(delivery)
        this.#sendWaiting()
      }
    })
  }

  /** Answers each filter by itself [MQTT-3.8.4-5], then sends what is retained on those that are granted. */
  subscribe(id: number, requests: readonly FilterRequest[]): void {
    const { deviceId, state } = this.#session
    const granted: string[] = []
    const codes = requests.map((request) => {
      const suffix = state.subscribe(this.#session, request)
      if (suffix === undefined) {
        this.#hub.host.refused(this.#session, 'subscribe')
        return SUBACK_REFUSED
      }
      granted.push(suffix)
      return request.qos
    })
    this.#session.send(suback(id, codes))
    if (granted.length === 0) return
    const owed = new Set(granted.flatMap((filter) => this.#hub.retained.matching(deviceId, filter)))
    this.#sendAtOnce([...owed].flatMap((message) => state.accept(message) ?? []))
    if (!this.#session.isEnded) this.#hub.host.subscribed(this.#session)
  }

  unsubscribe(id: number, requests: readonly FilterRequest[]): void {
    const { deviceId, state } = this.#session
    for (const { filter } of requests) state.filters.delete(suffixOf(deviceId, filter) ?? '')
    this.#session.send(answer(PACKET.unsuback, id))
  }

  /** `type`: PUBACK, PUBREC or PUBCOMP. */
  acknowledge(type: number, id: number): void {
    const { state } = this.#session
    if (type !== PACKET.pubrec) {
      state.settle(id)
      this.#sendWaiting()
      return
    }
    const delivery = state.unacknowledged.get(id)
    if (delivery !== undefined) {
      delivery.isReleased = true
      // Also for a message that is not sent again: the device holds the id until it is released [MQTT-4.3.3-1].
      state.keep(delivery)
    }
    this.#session.send(answer(PACKET.pubrel, id))
  }

  /** The connection is over: what the device has not acknowledged has not reached it (O3). */
  end(): void {
    for (const delivery of this.#session.state.unacknowledged.values()) delivery.settle?.(false)
    for (const delivery of this.#waiting) delivery.settle?.(false)
    this.#waiting = []
  }

  #sendAtOnce(deliveries: readonly Delivery[]): void {
    // Granted only when nothing waits, so that a device that subscribes again and again does not get ever more room.
    if (this.#waiting.length === 0) this.#burstBytes = deliveries.reduce((sum, next) => sum + sizeOf(next), 0)
    for (const delivery of deliveries) this.#wait(delivery)
    this.#sendWaiting()
  }

  #wait(delivery: Delivery): void {
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

  #hasRoomFor({ qos, id }: Delivery): boolean {
    if (this.#socket.writableNeedDrain) return false
    return qos === 0 || id !== 0 || this.#session.state.unacknowledged.size < LIMITS.sessionUnackedMax
  }

  #send(delivery: Delivery): void {
    const { deviceId, state } = this.#session
    const isDup = delivery.id !== 0
    // Acknowledged while it waited to be sent again.
    if (isDup && state.unacknowledged.get(delivery.id) !== delivery) return
    if (delivery.isReleased) {
      this.#session.send(answer(PACKET.pubrel, delivery.id))
      return
    }
    if (delivery.qos > 0 && !isDup) state.assignId(delivery)
    this.#session.send(publish({ ...delivery, topic: topicOf(deviceId, delivery.suffix), isDup }))
    if (delivery.qos === 0) delivery.settle?.(!this.#session.isEnded)
  }
}
