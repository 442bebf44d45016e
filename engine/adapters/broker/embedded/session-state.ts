// The session state of MQTT: subscriptions, QoS 2 ids and messages on their way to the device. It outlives the
// connection only if the device asked for it (clean session off), and is bounded per device (R9).
//
// Q1. A packet id belongs to one delivery from its first PUBLISH to the last acknowledgement, even across connections.
import { Buffer } from 'node:buffer'
import type { DeviceId, Millis } from '../../../../schemas/ids.ts'
import { isOwnFilter, suffixOf } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import { isLive, type RequestFacts } from '../../../ports/broker.ts'
import { Filters, isFilter, type Qos } from '../filters.ts'
import type { FilterRequest } from './packets.ts'
import { UnreleasedPackets } from './unreleased-packets.ts'

export interface Message {
  /** The topic after `fleet/{device_id}/`. */
  readonly suffix: string
  /** Not copied: the caller must not change it. */
  readonly payload: Buffer
  readonly qos: Qos
  readonly retain: boolean
  /** The message is not delivered after this time. */
  readonly expiresAt?: Millis | undefined
  /** True if the device itself published the message. */
  readonly isOwn?: boolean
  /** Properties of MQTT 5 that the message came with, as bytes. */
  readonly properties?: Buffer | undefined
  readonly request?: RequestFacts | undefined
}

/** A message on its way to one device. `qos` is already limited to what the device was granted. */
export interface Delivery extends Message {
  /** 0 until it is sent for the first time (Q1). */
  id: number
  /** QoS 2: PUBREC has arrived, so PUBREL is sent from now on instead of the message. */
  isReleased: boolean
  /** Resolves the promise of the publisher, if there is one. Only the first call counts. */
  readonly settle: ((isAcknowledged: boolean) => void) | undefined
}

export interface Subscriber {
  readonly deviceId: DeviceId
  readonly maySubscribe: boolean
}

/** Rough size of a delivery without its payload, in bytes. */
const DELIVERY_BYTES = 64

export function sizeOf({ payload, suffix, properties }: Delivery): number {
  return payload.length + suffix.length + (properties?.length ?? 0) + DELIVERY_BYTES
}

export type SubscribeRefusal = 'forbidden' | 'shared' | 'malformed' | 'too_many'

const SHARED = '$share/'

export class SessionState {
  readonly filters = new Filters()
  readonly unreleased = new UnreleasedPackets()
  /** Deliveries that have been sent but not acknowledged, by packet id. */
  readonly unacknowledged = new Map<number, Delivery>()
  /** Seconds that the session outlives its connection; 0 if it does not. */
  expirySec: number
  /** Monotonic milliseconds at which it expires while its device is away. */
  expiresAt = Number.POSITIVE_INFINITY
  /** Deliveries for the next connection, oldest first. */
  readonly #kept = new Set<Delivery>()
  #keptBytes = 0
  #lastId = 0

  constructor(expirySec: number) {
    this.expirySec = expirySec
  }

  get isPersistent(): boolean {
    return this.expirySec > 0
  }

  /** True if there is anything here for a connection to resume. */
  get isUsed(): boolean {
    return this.isPersistent || this.filters.size > 0 || this.#kept.size > 0
  }

  /** Subscribes the device to one of its own filters, or says why not. */
  subscribe(
    { deviceId, maySubscribe }: Subscriber,
    { filter, qos, options }: FilterRequest,
  ): { readonly suffix: string; readonly isNew: boolean } | SubscribeRefusal {
    if (filter.startsWith(SHARED)) return 'shared'
    const suffix = suffixOf(deviceId, filter)
    if (!maySubscribe || suffix === undefined || !isOwnFilter(deviceId, filter)) return 'forbidden'
    if (Buffer.byteLength(filter) > LIMITS.topicBytesMax || !isFilter(filter, LIMITS.topicLevelsMax))
      return 'malformed'
    const isNew = !this.filters.has(suffix)
    if (isNew && this.filters.size >= LIMITS.subscriptionsPerSessionMax) return 'too_many'
    this.filters.set(suffix, qos, options)
    return { suffix, isNew }
  }

  /** Takes a message that is published now, whether the device is connected or not. Only a subscription that finds it later
   *  is told that it is retained [MQTT-3.3.1-9], unless a device of MQTT 5 asks to see messages as they were published. */
  acceptPublished(message: Message, settle?: Delivery['settle']): Delivery | undefined {
    const retain = message.retain && this.filters.isAsPublished(message.suffix)
    return this.accept({ ...message, retain }, settle)
  }

  /** Undefined if no subscription matches. A delivery that must survive the connection is kept from now on. */
  accept(message: Message, settle?: Delivery['settle']): Delivery | undefined {
    const { suffix, payload, qos: wanted, retain, isOwn, expiresAt, properties, request } = message
    const granted = isOwn === true ? this.filters.echoQosFor(suffix) : this.filters.qosFor(suffix)
    if (granted < 0) return undefined
    const qos = granted < wanted ? (granted as Qos) : wanted
    const facts = { suffix, payload, qos, retain, expiresAt, properties, request }
    const delivery = { ...facts, id: 0, isReleased: false, settle }
    if (qos > 0 && !isLive(suffix)) this.keep(delivery)
    return delivery
  }

  /** Keeps a delivery for the next connection, if the session is persistent. Beyond the bounds the oldest is dropped. */
  keep(delivery: Delivery): void {
    if (!this.isPersistent || this.#kept.has(delivery)) return
    this.#kept.add(delivery)
    this.#keptBytes += sizeOf(delivery)
    for (const oldest of this.#kept) {
      if (this.#kept.size <= LIMITS.offlineQueueMax && this.#keptBytes <= LIMITS.offlineQueueBytesMax) break
      this.#drop(oldest)
    }
  }

  /** Gives a delivery its packet id. There is always a free one, since at most `sessionUnackedMax` are in use. */
  assignId(delivery: Delivery): void {
    do this.#lastId = (this.#lastId % 0xffff) + 1
    while (this.unacknowledged.has(this.#lastId))
    delivery.id = this.#lastId
    this.unacknowledged.set(delivery.id, delivery)
  }

  /** Called when the device has acknowledged or refused the delivery with this id for good. */
  settle(id: number, isTaken = true): void {
    const delivery = this.unacknowledged.get(id)
    if (delivery === undefined) return
    this.unacknowledged.delete(id)
    this.#drop(delivery)
    delivery.settle?.(isTaken)
  }

  /** Drops a delivery that cannot or must not be sent any more. */
  discard(delivery: Delivery): void {
    this.unacknowledged.delete(delivery.id)
    this.#drop(delivery)
    delivery.settle?.(false)
  }

  /** Deliveries to send on a new connection, oldest first. Anything else in flight is forgotten. */
  resume(): readonly Delivery[] {
    for (const [id, delivery] of this.unacknowledged)
      if (!this.#kept.has(delivery)) this.unacknowledged.delete(id)
    return [...this.#kept]
  }

  #drop(delivery: Delivery): void {
    if (this.#kept.delete(delivery)) this.#keptBytes -= sizeOf(delivery)
  }
}
