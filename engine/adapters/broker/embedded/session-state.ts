// What MQTT calls the session state: subscriptions, QoS 2 ids and messages waiting for the device. It outlives the
// connection only for a device that asked for it (clean session off), and is bounded per device (R9).
import type { DeviceId } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { Filters, type Qos } from '../filters.ts'
import { Unreleased } from './unreleased.ts'

/** A message for a device that may be away. Fields as aedes names them. */
export interface StoredPacket {
  readonly brokerId: string
  readonly brokerCounter: number
  readonly topic: string
  readonly payload: Buffer
  readonly qos: Qos
}

export interface Waiting {
  readonly packet: StoredPacket
  messageId: number | undefined
  isSent: boolean
  /** QoS 2: received by the device, which has yet to be told that we know. */
  isReleased: boolean
}

const ENTRY_BYTES = 64

/** Messages of QoS 1 and 2 for one device, the oldest dropped beyond the bounds. */
class OfflineQueue {
  #entries: Waiting[] = []
  #bytes = 0

  get length(): number {
    return this.#entries.length
  }

  get bytes(): number {
    return this.#bytes
  }

  entries(): readonly Waiting[] {
    return [...this.#entries]
  }

  add(packet: StoredPacket): void {
    this.#entries.push({ packet, messageId: undefined, isSent: false, isReleased: false })
    this.#bytes += sizeOf(packet)
    while (this.#entries.length > LIMITS.offlineQueueMax || this.#bytes > LIMITS.offlineQueueBytesMax) {
      const dropped = this.#entries.shift()
      if (dropped === undefined) break
      this.#bytes -= sizeOf(dropped.packet)
    }
  }

  hasId(messageId: number): boolean {
    return this.#entries.some((entry) => entry.messageId === messageId)
  }

  sent(brokerCounter: number, messageId: number): void {
    const entry = this.#entries.find(({ packet }) => packet.brokerCounter === brokerCounter)
    if (entry === undefined) return
    entry.messageId = messageId
    entry.isSent = true
  }

  release(messageId: number): void {
    const entry = this.#entries.find((waiting) => waiting.messageId === messageId)
    if (entry !== undefined) entry.isReleased = true
  }

  remove(messageId: number): void {
    const index = this.#entries.findIndex((entry) => entry.messageId === messageId)
    const [removed] = index < 0 ? [] : this.#entries.splice(index, 1)
    if (removed !== undefined) this.#bytes -= sizeOf(removed.packet)
  }
}

function sizeOf(packet: StoredPacket): number {
  return packet.payload.length + packet.topic.length + ENTRY_BYTES
}

export class SessionState {
  readonly filters = new Filters()
  readonly unreleased = new Unreleased()
  readonly queue = new OfflineQueue()
  readonly isPersistent: boolean
  #lastId = 0

  constructor(isPersistent: boolean) {
    this.isPersistent = isPersistent
  }

  /** A packet id for a downlink. At most `sessionUnackedMax` are in use, so one is free. */
  nextId(isUsed: (id: number) => boolean): number {
    do this.#lastId = (this.#lastId % 0xffff) + 1
    while (isUsed(this.#lastId) || this.queue.hasId(this.#lastId))
    return this.#lastId
  }

  /** What waits for the device, each with its packet id. */
  replay(): readonly Waiting[] {
    const waiting = this.queue.entries()
    for (const entry of waiting) entry.messageId ??= this.nextId(() => false)
    return waiting
  }
}

/** The session states that outlive connections. */
export class SessionStates {
  readonly #persistent = new Map<DeviceId, SessionState>()

  /** The state a connecting device works with; `present` when it has one from before. */
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
