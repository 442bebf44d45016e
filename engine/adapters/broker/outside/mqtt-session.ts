// A device's session on a broker outside, as far as its lane has heard of it.
import { Buffer } from 'node:buffer'
import type { DeviceId, Micros, Partition } from '../../../../schemas/ids.ts'
import { isSubSuffix } from '../../../../schemas/topics.ts'
import type { DeviceSession } from '../../../ports/broker.ts'
import { Filters } from '../filters.ts'
import type { Lane } from './mqtt-lane.ts'

/** Beyond, what is durable is let go of. */
const TOLD_KEPT_MAX = 256

export interface MqttSessionFacts {
  readonly deviceId: DeviceId
  readonly partition: Partition
  readonly number: Micros
  readonly ip: string
  readonly isAssumed: boolean
}

export class MqttSession implements DeviceSession {
  readonly deviceId: DeviceId
  readonly partition: Partition
  readonly number: Micros
  readonly ip: string
  readonly idBytes: Uint8Array
  readonly isAssumed: boolean
  readonly filters = new Filters()
  heardTicks = 0
  readonly #lane: Pick<Lane, 'done'>
  /** Told to the host and not yet durable, by their numbers in the lane. */
  #told: number[] = []
  #first = 0

  constructor(lane: Pick<Lane, 'done'>, facts: MqttSessionFacts) {
    this.#lane = lane
    this.deviceId = facts.deviceId
    this.partition = facts.partition
    this.number = facts.number
    this.ip = facts.ip
    this.isAssumed = facts.isAssumed
    this.idBytes = Buffer.from(facts.deviceId, 'latin1')
  }

  get pending(): number {
    return this.#told.length - this.#first
  }

  told(seq: number): void {
    this.#told.push(seq)
  }

  /** What an assumed session subscribed to was told to somebody else: of a gateway it is assumed as well. */
  takes(suffix: string): boolean {
    return this.filters.qosFor(suffix) >= 0 || (this.isAssumed && isSubSuffix(suffix))
  }

  durable(count: number): void {
    for (let left = count; left > 0; left--) {
      const seq = this.#told[this.#first++]
      if (seq !== undefined) this.#lane.done(seq)
    }
    if (this.#first < this.#told.length && this.#first < TOLD_KEPT_MAX) return
    this.#told.splice(0, this.#first)
    this.#first = 0
  }
}
