// The session state of MQTT: subscriptions, QoS 2 ids and messages on their way to the device. It outlives the
// connection only for a device that asked for it (clean session off), and is bounded per device (R9).
//
// Q1. A packet id belongs to one delivery from its first PUBLISH until the last acknowledgement, also across connections.
import { Buffer } from 'node:buffer'
import type { DeviceId } from '../../../../schemas/ids.ts'
import { isOwnFilter, suffixOf } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import { isLive } from '../../../ports/broker.ts'
import { Filters, isFilter, type Qos } from '../filters.ts'
import type { FilterRequest } from './packets.ts'
import { Unreleased } from './unreleased.ts'

/** A message as it is published. */
export interface Message {
  /** The topic after `fleet/{device_id}/`. */
  readonly suffix: string
  /** Kept without a copy: the caller must not change it. */
  readonly payload: Buffer
  readonly qos: Qos
  readonly retain: boolean
}

/** A message on its way to one device. `qos` is already limited to what the device was granted. */
export interface Delivery extends Message {
  /** 0 until it is sent for the first time (Q1). */
  id: number
  /** QoS 2: PUBREC has come, so PUBREL is sent from now on instead of the message. */
  isReleased: boolean
  /** Tells the publisher, if one waits. Only the first call counts. */
  readonly settle: ((isAcknowledged: boolean) => void) | undefined
}

export interface Subscriber {
  readonly deviceId: DeviceId
  readonly maySubscribe: boolean
}

/** Rough size of a delivery without its payload, in bytes. */
const DELIVERY_BYTES = 64

export function sizeOf({ payload, suffix }: Delivery): number {
  return payload.length + suffix.length + DELIVERY_BYTES
}

export class SessionState {
  readonly filters = new Filters()
  readonly unreleased = new Unreleased()
  /** Deliveries that are sent and not yet acknowledged, by packet id. */
  readonly unacknowledged = new Map<number, Delivery>()
  readonly isPersistent: boolean
  /** Deliveries for the next connection, oldest first. */
  readonly #kept = new Set<Delivery>()
  #keptBytes = 0
  #lastId = 0

  constructor(isPersistent: boolean) {
    this.isPersistent = isPersistent
  }

  /** Subscribes the device to a filter of its own. Returns the filter's suffix, or undefined if it is refused. */
  subscribe({ deviceId, maySubscribe }: Subscriber, { filter, qos }: FilterRequest): string | undefined {
    const suffix = suffixOf(deviceId, filter)
    const isGranted =
      maySubscribe &&
      suffix !== undefined &&
      isOwnFilter(deviceId, filter) &&
      Buffer.byteLength(filter) <= LIMITS.topicBytesMax &&
      isFilter(filter, LIMITS.topicLevelsMax) &&
      (this.filters.has(suffix) || this.filters.size < LIMITS.subscriptionsPerSessionMax)
    if (!isGranted) return undefined
    this.filters.set(suffix, qos)
    return suffix
  }

  /** Undefined if no subscription matches. A delivery that must survive the connection is kept from here on. */
  accept(
    { suffix, payload, qos: wanted, retain }: Message,
    settle?: Delivery['settle'],
  ): Delivery | undefined {
    const granted = this.filters.qosFor(suffix)
    if (granted < 0) return undefined
    const qos = granted < wanted ? (granted as Qos) : wanted
    const delivery = { suffix, payload, qos, retain, id: 0, isReleased: false, settle }
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

  /** Gives a delivery its packet id. At most `sessionUnackedMax` are in use, so one is free. */
  assignId(delivery: Delivery): void {
    do this.#lastId = (this.#lastId % 0xffff) + 1
    while (this.unacknowledged.has(this.#lastId))
    delivery.id = this.#lastId
    this.unacknowledged.set(delivery.id, delivery)
  }

  /** The device has acknowledged the delivery with this id for good. */
  settle(id: number): void {
    const delivery = this.unacknowledged.get(id)
    if (delivery === undefined) return
    this.unacknowledged.delete(id)
    this.#drop(delivery)
    delivery.settle?.(true)
  }

  /** Deliveries that a new connection is sent, oldest first. Whatever else was under way is forgotten. */
  resume(): readonly Delivery[] {
    for (const [id, delivery] of this.unacknowledged)
      if (!this.#kept.has(delivery)) this.unacknowledged.delete(id)
    return [...this.#kept]
  }

  #drop(delivery: Delivery): void {
    if (this.#kept.delete(delivery)) this.#keptBytes -= sizeOf(delivery)
  }
}

/** The session states that outlive connections. */
export class SessionStates {
  readonly #persistent = new Map<DeviceId, SessionState>()

  /** The state for a device that connects. `present` is true if the device has one from before. */
  claim(deviceId: DeviceId, clean: boolean): { readonly state: SessionState; readonly present: boolean } {
    const earlier = this.#persistent.get(deviceId)
    if (earlier !== undefined && !clean) return { state: earlier, present: true }
    const state = new SessionState(!clean)
    if (clean) this.#persistent.delete(deviceId)
    else this.#persistent.set(deviceId, state)
    return { state, present: false }
  }

  get(deviceId: DeviceId): SessionState | undefined {
    return this.#persistent.get(deviceId)
  }

  forget(deviceId: DeviceId): void {
    this.#persistent.delete(deviceId)
  }
}
