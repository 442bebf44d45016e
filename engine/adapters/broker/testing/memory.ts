// A broker without sockets, for the simulation and for tests of what lies behind the broker port. Devices are objects, a
// call is a packet, and nothing happens except by calls.
import { Buffer } from 'node:buffer'
import { type DeviceId, Millis } from '../../../../schemas/ids.ts'
import {
  type Broker,
  type BrokerCounts,
  CONNACK,
  type ConnackCode,
  type Downlink,
  type EndCause,
  type Listener,
  type UplinkHost,
} from '../../../ports/broker.ts'
import { allowWill } from '../embedded/connect.ts'
import type { RawWill } from '../embedded/connect-fields.ts'
import { PublishLimit, sendersOf } from '../embedded/publish-limit.ts'
import { RetainedMessages } from '../embedded/retained-messages.ts'
import type { Delivery } from '../embedded/session-state.ts'
import { SessionStates } from '../embedded/session-states.ts'
import { type DeviceMessage, MemoryDevice, type MemoryHub } from './memory-device.ts'

export interface MemoryConnect {
  readonly clientId: string
  readonly password?: Uint8Array
  readonly clean?: boolean
  readonly will?: RawWill
}

export interface MemoryBrokerOptions {
  /** Messages per second that one device may publish. 0 or undefined: any number. `sweep` advances the time. */
  readonly publishRateMax?: number
}

export class MemoryBroker implements Broker, MemoryHub {
  readonly publishes: [number, number, number] = [0, 0, 0]
  refusedTopics = 0
  shedQos0 = 0
  readonly #publishLimit: PublishLimit
  readonly #live = new Map<DeviceId, MemoryDevice>()
  readonly #states = new SessionStates()
  readonly #retained = new RetainedMessages()
  #host: UplinkHost | undefined
  #admitted = 0
  #denied = 0

  constructor({ publishRateMax = 0 }: MemoryBrokerOptions = {}) {
    this.#publishLimit = new PublishLimit(publishRateMax, 0)
  }

  get host(): UplinkHost {
    if (this.#host === undefined) throw new Error('call listen() before devices connect')
    return this.#host
  }

  async listen(host: UplinkHost): Promise<readonly [Listener]> {
    this.#host = host
    return [{ scheme: 'mqtt', host: 'memory', port: 0 }]
  }

  /** Resolves to the connected device, or to the code that it is refused with. */
  async connect({
    clientId,
    password,
    clean = true,
    will,
  }: MemoryConnect): Promise<MemoryDevice | ConnackCode> {
    const host = this.host
    const attempt = { clientId, username: clientId, password, ip: '127.0.0.1' }
    const admission = await host.admit(attempt)
    if (admission.kind === 'denied') return this.#deny(admission.code)
    if (admission.kind === 'provisioning') return this.#deny(CONNACK.unavailable)
    const { deviceId, mayPublish } = admission
    const allowed = will && mayPublish ? allowWill(will, deviceId) : undefined
    if (will !== undefined && allowed === undefined) return this.#deny(CONNACK.unauthorized)
    const { state, present } = this.#states.claim(
      deviceId,
      { clean, expirySec: clean ? 0 : Number.POSITIVE_INFINITY },
      0,
    )
    const device = new MemoryDevice(this, admission, {
      number: host.sessionNumber(),
      state,
      present,
      allowance: this.#publishLimit.of(deviceId),
    })
    device.will = allowed
    const earlier = this.#live.get(deviceId)
    this.#admitted++
    host.opened(device)
    this.#live.set(deviceId, device)
    earlier?.end('takeover')
    if (state.filters.size > 0) host.subscribed(device)
    for (const delivery of state.resume()) this.#deliver(device, delivery)
    return device
  }

  async publish(downlink: Downlink): Promise<boolean> {
    const { deviceId, suffix, qos } = downlink
    const message = { suffix, payload: Buffer.from(downlink.payload), qos, retain: downlink.retain }
    return new Promise((resolve) => this.#send(deviceId, message, resolve))
  }

  publishToGroup(): void {}

  cut(deviceId: DeviceId, cause: EndCause): void {
    const live = this.#live.get(deviceId)
    live?.forget()
    live?.end(cause)
    this.#states.forget(deviceId)
    this.#retained.forget(deviceId)
  }

  async free(): Promise<void> {}

  end(deviceId: DeviceId): void {
    this.#live.get(deviceId)?.end('revoked')
  }

  isConnected(deviceId: DeviceId): boolean {
    return this.#live.has(deviceId)
  }

  counts(): BrokerCounts {
    return {
      connected: this.#live.size,
      admitted: this.#admitted,
      denied: this.#denied,
      publishes: this.publishes,
      refusedTopics: this.refusedTopics,
      bytesIn: 0,
      cutFrozen: 0,
      shedQos0: this.shedQos0,
    }
  }

  /** Cuts sessions whose token has expired, and takes what devices may publish by now. */
  sweep(now: Millis): void {
    this.#publishLimit.sweep(now, (deviceId) => sendersOf(this.#live.get(deviceId), this.host))
    for (const device of [...this.#live.values()]) {
      if (now >= device.facts.expiresAt) device.end('expired')
      else device.proceed()
    }
  }

  async close(): Promise<void> {
    for (const device of [...this.#live.values()]) device.end('shutdown')
  }

  ended(device: MemoryDevice): void {
    if (this.#live.get(device.deviceId) === device) this.#live.delete(device.deviceId)
  }

  /** Retains or echoes a device's own message once it is durable. */
  follow(device: MemoryDevice, message: DeviceMessage): void {
    const isEchoed = device.state.filters.qosFor(message.suffix) >= 0
    if (message.retain || isEchoed) this.#send(device.deviceId, message, undefined)
  }

  sendRetained(device: MemoryDevice, filter: string): void {
    for (const message of this.#retained.matching(device.deviceId, filter, Millis(0)))
      this.#deliver(device, device.state.accept(message))
  }

  #send(
    deviceId: DeviceId,
    { suffix, payload, qos, retain }: DeviceMessage,
    settle: Delivery['settle'],
  ): void {
    const message = { suffix, payload: Buffer.from(payload), qos, retain: false }
    if (retain) this.#retained.store(deviceId, { ...message, retain })
    const live = this.#live.get(deviceId)
    const delivery = (live?.state ?? this.#states.get(deviceId))?.accept(message, settle)
    if (live === undefined || delivery === undefined) settle?.(false)
    else this.#deliver(live, delivery)
  }

  #deliver(device: MemoryDevice, delivery: Delivery | undefined): void {
    if (delivery === undefined) return
    const { suffix, payload, qos, retain } = delivery
    if (qos > 0 && delivery.id === 0) device.state.assignId(delivery)
    device.deliver({ suffix, payload, qos, retain }, (isAcknowledged) => {
      if (isAcknowledged && qos > 0) device.state.settle(delivery.id)
      else delivery.settle?.(isAcknowledged)
    })
  }

  #deny(code: ConnackCode): ConnackCode {
    this.#denied++
    return code
  }
}
