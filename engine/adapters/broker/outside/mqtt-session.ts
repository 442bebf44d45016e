// A device's session on an outside broker, as far as its lane has reported it.
import { Buffer } from 'node:buffer'
import { type DeviceId, type Micros, Millis, type Partition } from '../../../../schemas/ids.ts'
import { isSubSuffix } from '../../../../schemas/topics.ts'
import type { DeviceSession } from '../../../ports/broker.ts'
import { Filters } from '../filters.ts'
import { warnBeforeMs } from '../token-warning.ts'
import type { Lane } from './mqtt-lane.ts'

/** Durable message numbers may pile up to this count before they are cut off the list. */
const DURABLE_KEPT_MAX = 256

export interface MqttSessionFacts {
  readonly deviceId: DeviceId
  readonly partition: Partition
  readonly number: Micros
  readonly ip: string
  /** Address and port. Empty if the connect event was not seen. */
  readonly peer: string
  readonly isAssumed: boolean
  readonly token?: ConnectToken | undefined
}

/** What EMQX reports about the token that a device connected with. */
export interface ConnectToken {
  readonly issuedAt: Millis
  readonly lifetimeSec: number
}

export class MqttSession implements DeviceSession {
  readonly deviceId: DeviceId
  readonly partition: Partition
  readonly number: Micros
  readonly ip: string
  peer: string
  readonly idBytes: Uint8Array
  readonly isAssumed: boolean
  readonly issuedAt: Millis | undefined
  readonly tokenSec: number | undefined
  readonly filters = new Filters()
  heardTicks = 0
  readonly #lane: Pick<Lane, 'done'>
  /** Numbers in the lane of messages that the host has and that are not durable yet, from `#first` on. */
  #pending: number[] = []
  #first = 0
  #warnAt: number

  constructor(lane: Pick<Lane, 'done'>, facts: MqttSessionFacts) {
    this.#lane = lane
    this.deviceId = facts.deviceId
    this.partition = facts.partition
    this.number = facts.number
    this.ip = facts.ip
    this.peer = facts.peer
    this.isAssumed = facts.isAssumed
    this.issuedAt = facts.token?.issuedAt
    this.tokenSec = facts.token?.lifetimeSec
    this.#warnAt = this.#expiresAt - warnBeforeMs(this.tokenSec)
    this.idBytes = Buffer.from(facts.deviceId, 'latin1')
  }

  get #expiresAt(): number {
    return this.issuedAt === undefined || this.tokenSec === undefined
      ? Number.POSITIVE_INFINITY
      : this.issuedAt + this.tokenSec * 1000
  }

  /** When the token ends, if the device must be warned now. */
  takeExpiry(now: Millis): Millis | undefined {
    if (now < this.#warnAt) return undefined
    this.#warnAt = Number.POSITIVE_INFINITY
    return Millis(this.#expiresAt)
  }

  get pending(): number {
    return this.#pending.length - this.#first
  }

  handedOver(seq: number): void {
    this.#pending.push(seq)
  }

  /** Subscriptions of an assumed session were reported to another process. A gateway's are assumed to exist, too. */
  takes(suffix: string): boolean {
    return this.filters.qosFor(suffix) >= 0 || (this.isAssumed && isSubSuffix(suffix))
  }

  durable(count: number): void {
    for (let left = count; left > 0; left--) {
      const seq = this.#pending[this.#first++]
      if (seq !== undefined) this.#lane.done(seq)
    }
    if (this.#first < this.#pending.length && this.#first < DURABLE_KEPT_MAX) return
    this.#pending.splice(0, this.#first)
    this.#first = 0
  }
}
