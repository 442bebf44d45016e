// A device on the memory broker: both its own end of a session and the session itself.
import { Buffer } from 'node:buffer'
import type { DeviceId, Micros, Partition } from '../../../../schemas/ids.ts'
import { isRetainable, suffixOf } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import type { DeviceSession, Downlink, EndCause, SessionGrant, UplinkHost } from '../../../ports/broker.ts'
import { isWillPublished, type Will } from '../embedded/connect.ts'
import { isTopicName } from '../embedded/packets.ts'
import type { Allowance } from '../embedded/publish-limit.ts'
import type { SessionState } from '../embedded/session-state.ts'
import type { Qos } from '../filters.ts'

export interface MemoryPublish {
  readonly qos?: Qos
  readonly retain?: boolean
}

export type DeviceMessage = Omit<Downlink, 'deviceId'>

interface PendingPublish {
  readonly message: DeviceMessage
  settle(isDurable: boolean): void
}

/** The part of the broker that a device needs. */
export interface MemoryHub {
  readonly host: UplinkHost
  readonly publishes: [number, number, number]
  refusedTopics: number
  shedQos0: number
  ended(device: MemoryDevice): void
  /** Retains or echoes a durable message. */
  follow(device: MemoryDevice, message: DeviceMessage): void
  sendRetained(device: MemoryDevice, filter: string): void
}

export class MemoryDevice implements DeviceSession {
  readonly deviceId: DeviceId
  readonly partition: Partition
  readonly number: Micros
  readonly ip = '127.0.0.1'
  readonly idBytes: Uint8Array
  readonly facts: SessionGrant
  readonly state: SessionState
  readonly sessionPresent: boolean
  readonly received: DeviceMessage[] = []
  /** Called with each message before it is acknowledged. */
  heard: (message: DeviceMessage) => void = () => {}
  /** If false, downlinks stay unacknowledged until `acknowledge` is called. */
  acknowledges = true
  isEnded = false
  will: Will | undefined
  readonly #broker: MemoryHub
  readonly #pending: PendingPublish[] = []
  readonly #allowance: Allowance | undefined
  /** Messages that the device's rate holds back. */
  readonly #waiting: PendingPublish[] = []
  #isForgotten = false
  readonly #unacked: ((isAcked: boolean) => void)[] = []

  constructor(
    broker: MemoryHub,
    facts: SessionGrant,
    more: {
      number: Micros
      state: SessionState
      present: boolean
      allowance: Allowance | undefined
    },
  ) {
    this.#broker = broker
    this.facts = facts
    this.deviceId = facts.deviceId
    this.partition = facts.partition
    this.number = more.number
    this.idBytes = Buffer.from(facts.deviceId)
    this.state = more.state
    this.sessionPresent = more.present
    this.#allowance = more.allowance
  }

  /** Resolves true once the broker has acknowledged it, false if the session ends before. */
  publish(
    topic: string,
    payload: Uint8Array | string,
    { qos = 1, retain = false }: MemoryPublish = {},
  ): Promise<boolean> {
    const suffix = suffixOf(this.deviceId, topic)
    const bytes = Buffer.from(payload)
    if (this.isEnded) return Promise.resolve(false)
    const isTaken =
      suffix !== undefined &&
      this.facts.mayPublish &&
      isTopicName(topic, { bytes: LIMITS.topicBytesMax, levels: LIMITS.topicLevelsMax }) &&
      bytes.length <= LIMITS.payloadBytesMax
    if (!isTaken) {
      this.#broker.refusedTopics++
      this.#broker.host.refused(this, 'publish')
      this.end('abuse')
      return Promise.resolve(false)
    }
    const message = { suffix, payload: bytes, qos, retain: retain && isRetainable(suffix) }
    return new Promise((settle) => {
      this.#waiting.push({ message, settle })
      this.proceed()
    })
  }

  /** Hands over what the device's rate lets through. A message of QoS 0 over the rate is shed. */
  proceed(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const isSpent = this.#allowance?.isSpent === true
      if (isSpent && next.message.qos > 0) return
      this.#waiting.shift()
      if (!isSpent) {
        this.#allowance?.take(next.message.payload.length)
        this.handOver(next, false)
      } else {
        this.#broker.shedQos0++
        next.settle(true)
      }
    }
  }

  subscribe(filter: string, qos: Qos = 1): boolean {
    if (this.isEnded) return false
    const granted = this.state.subscribe(this.facts, { filter, qos })
    if (typeof granted === 'string') {
      this.#broker.host.refused(this, 'subscribe')
      return false
    }
    this.#broker.host.subscribed(this)
    this.#broker.sendRetained(this, granted.suffix)
    return true
  }

  unsubscribe(filter: string): void {
    this.state.filters.delete(suffixOf(this.deviceId, filter) ?? '')
    if (!this.isEnded) this.#broker.host.subscribed(this)
  }

  takes(suffix: string): boolean {
    return !this.isEnded && this.state.filters.qosFor(suffix) >= 0
  }

  durable(count: number): void {
    for (const { message, settle } of this.#pending.splice(0, count)) {
      settle(!this.isEnded)
      if (!this.#isForgotten) this.#broker.follow(this, message)
    }
  }

  deliver(message: DeviceMessage, acked: (isAcked: boolean) => void): void {
    this.received.push(message)
    this.heard(message)
    if (message.qos === 0 || this.acknowledges) acked(true)
    else this.#unacked.push(acked)
  }

  acknowledge(): void {
    for (const acked of this.#unacked.splice(0)) acked(true)
  }

  handOver(pending: PendingPublish, will: boolean): void {
    this.#pending.push(pending)
    this.#broker.publishes[pending.message.qos]++
    this.#broker.host.uplink(this, { ...pending.message, will })
  }

  end(cause: EndCause): void {
    if (this.isEnded) return
    this.isEnded = true
    if (this.will !== undefined && isWillPublished(cause))
      this.handOver({ message: this.will, settle: () => {} }, true)
    this.#broker.host.closed(this, cause)
    this.#broker.ended(this)
    for (const acked of this.#unacked.splice(0)) acked(false)
    for (const { settle } of this.#waiting.splice(0)) settle(false)
  }

  /** Drops the will, and messages that would be retained or echoed once durable. */
  forget(): void {
    this.will = undefined
    this.#isForgotten = true
  }
}
