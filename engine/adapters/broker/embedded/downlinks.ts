// Cloud to device, on aedes: subscriptions, deliveries, retained messages and what waits for a device that is away.
//
// L1. aedes has no opinion on who may do what: the hooks below decide, and a packet without a client is refused.
// L2. One device's publishes enter aedes one at a time. It hands messages on by paths of different length and drops
//     whichever comes second as a duplicate.
import { Aedes, type Client } from 'aedes'
import mqtt from 'mqtt-packet'
import type { DeviceId } from '../../../../schemas/ids.ts'
import { isOwnFilter, suffixOf, topicOf } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import { isFilter, type Qos } from '../filters.ts'
import { Persistence } from './persistence.ts'
import { Retained } from './retained.ts'
import { SessionStates } from './session-state.ts'
import { type Delivery, type Forwarded, type Subscriber, Wire } from './wire.ts'

/** Levels aedes lets through to our hook, which is stricter and answers instead of hanging up. */
const AEDES_LEVELS_MAX = 100

export interface Message {
  readonly suffix: string
  /** Kept, not copied. A payload object is published once. */
  readonly payload: Buffer
  readonly qos: Qos
  readonly retain: boolean
}

interface Job {
  readonly message: Message
  readonly delivery: Delivery
  done(): void
}

export class Downlinks {
  readonly states = new SessionStates()
  readonly #retained = new Retained()
  readonly #aedes: Aedes
  /** L2: a device is in here while one of its messages is inside aedes. */
  readonly #lanes = new Map<DeviceId, Job[]>()
  /** aedes copies packets, but not their payload: it is how a copy is told to belong to a downlink. */
  readonly #deliveries = new WeakMap<Buffer, Delivery>()
  readonly #wireOf: (deviceId: DeviceId) => Wire | undefined

  constructor(wireOf: (deviceId: DeviceId) => Wire | undefined) {
    this.#wireOf = wireOf
    this.#aedes = new Aedes({
      persistence: new Persistence(this.states, this.#retained),
      // Unbounded: with a bound, one slow delivery holds back those to other devices.
      concurrency: 0,
      drainTimeout: LIMITS.subscriberDrainTimeoutMs,
      maxTopicLevels: AEDES_LEVELS_MAX,
      authorizePublish: (_client, _packet, callback) =>
        callback(new Error('devices publish through the guard')),
      authorizeSubscribe: (client, subscription, callback) => {
        const isGranted = this.#grant(toWire(client), subscription)
        // Always the highest QoS towards aedes: `Wire.forward` lowers it by all filters that match.
        callback(null, isGranted ? { ...subscription, qos: 2 } : null)
      },
      authorizeForward: (client, packet) => {
        // A publish packet whose payload is the Buffer given to `#hand`, or a copy of such a packet.
        const forwarded = packet as unknown as Forwarded
        const isAllowed = toWire(client)?.forward(forwarded, this.#deliveries.get(forwarded.payload))
        return isAllowed ? packet : null
      },
    })
    this.#aedes.on('connackSent', (_packet, client) => toWire(client)?.opened())
    this.#aedes.on('clientReady', (client) => toWire(client)?.ready())
    this.#aedes.on('subscribe', (_subscriptions, client) => toWire(client)?.subscriber.subscribed())
    this.#aedes.on('unsubscribe', (filters, client) => this.#ungrant(toWire(client), filters))
  }

  async open(): Promise<void> {
    await this.#aedes.listen()
  }

  /** Introduces a session to aedes: needed once it subscribes, or has something waiting. */
  attach(subscriber: Subscriber): Wire {
    const wire = new Wire(subscriber)
    this.#aedes.handle(wire)
    const { deviceId, state } = subscriber
    wire.push(
      // No keep-alive and no will: both are the guard's, and aedes needs no timers then.
      mqtt.generate({
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 4,
        clean: !state.isPersistent,
        clientId: deviceId,
        keepalive: 0,
      }),
    )
    return wire
  }

  /** True when the device can be sent no more for now: too much waits to be handed on. */
  isFull(deviceId: DeviceId): boolean {
    return (this.#lanes.get(deviceId)?.length ?? 0) >= LIMITS.offlineQueueMax
  }

  /** See `Broker.publish`. */
  publish(deviceId: DeviceId, message: Message): Promise<boolean> {
    return new Promise((resolve) => {
      const delivery: Delivery = { taken: 'no', acked: resolve }
      const done = () => {
        if (delivery.taken !== 'sent') resolve(delivery.taken === 'written')
      }
      this.#enqueue(deviceId, { message, delivery, done })
    })
  }

  /** Forgets everything kept for a device; what is queued for it is not delivered. */
  forget(deviceId: DeviceId): void {
    this.states.forget(deviceId)
    this.#retained.forget(deviceId)
    const lane = this.#lanes.get(deviceId)
    for (const job of lane?.splice(1) ?? []) job.done()
  }

  close(): Promise<void> {
    for (const lane of this.#lanes.values()) for (const job of lane.splice(1)) job.done()
    return new Promise((resolve) => this.#aedes.close(resolve))
  }

  #enqueue(deviceId: DeviceId, job: Job): void {
    const lane = this.#lanes.get(deviceId)
    if (lane !== undefined) {
      lane.push(job)
      return
    }
    const opened = [job]
    this.#lanes.set(deviceId, opened)
    this.#run(deviceId, opened)
  }

  #run(deviceId: DeviceId, lane: Job[]): void {
    // A loop: aedes calls back at once for a message nobody takes, and a full lane would be a deep stack.
    let isInside = false
    let isCalledBack = true
    const next = () => {
      lane.shift()
      isCalledBack = true
      if (!isInside) step()
    }
    const step = () => {
      isInside = true
      while (isCalledBack) {
        const [job] = lane
        if (job === undefined) {
          this.#lanes.delete(deviceId)
          return
        }
        isCalledBack = false
        this.#whenReady(deviceId, () => this.#hand(deviceId, job, next))
      }
      isInside = false
    }
    step()
  }

  /** Once aedes has replayed what waited for the device, or at once if there is nothing to wait for. */
  #whenReady(deviceId: DeviceId, callback: () => void): void {
    const wire = this.#wireOf(deviceId)
    if (wire === undefined || wire.isReady) callback()
    else wire.whenReady(() => this.#whenReady(deviceId, callback))
  }

  #hand(deviceId: DeviceId, { message, delivery, done }: Job, next: () => void): void {
    const { suffix, payload, qos, retain } = message
    this.#deliveries.set(payload, delivery)
    this.#aedes.publish(
      { cmd: 'publish', topic: topicOf(deviceId, suffix), payload, qos, retain, dup: false },
      () => {
        done()
        next()
      },
    )
  }

  #grant(wire: Wire | undefined, subscription: { readonly topic: string; readonly qos: Qos }): boolean {
    if (wire === undefined) return false
    const { deviceId, maySubscribe, state } = wire.subscriber
    const { topic, qos } = subscription
    const suffix = suffixOf(deviceId, topic)
    const isAllowed =
      maySubscribe &&
      suffix !== undefined &&
      isOwnFilter(deviceId, topic) &&
      Buffer.byteLength(topic) <= LIMITS.topicBytesMax &&
      isFilter(topic, LIMITS.topicLevelsMax) &&
      (state.filters.has(suffix) || state.filters.size < LIMITS.subscriptionsPerSessionMax)
    if (isAllowed) state.filters.set(suffix, qos)
    else wire.subscriber.refused('subscribe')
    return isAllowed
  }

  #ungrant(wire: Wire | undefined, filters: readonly string[]): void {
    if (wire === undefined || wire.subscriber.isEnded) return
    const { deviceId, state } = wire.subscriber
    for (const filter of filters) {
      const suffix = suffixOf(deviceId, filter)
      if (suffix !== undefined) state.filters.delete(suffix)
    }
  }
}

function toWire(client: Client | null): Wire | undefined {
  return client?.conn instanceof Wire ? client.conn : undefined
}
