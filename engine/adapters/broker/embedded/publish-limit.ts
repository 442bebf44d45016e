// Limits how fast a device may publish: as many messages at once as in `publishBurstSec`, and then as many as the rate
// says. A large message counts several times. It counts by device, not by session, so that connecting again gains nothing.
import type { DeviceId } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'

export class Allowance {
  #left: number

  constructor(left: number) {
    this.#left = left
  }

  get isSpent(): boolean {
    return this.#left < 1
  }

  take(bytes: number): void {
    this.#left -= Math.max(1, Math.ceil(bytes / LIMITS.publishBytesCounted))
  }

  /** Returns true once the allowance is full again. */
  refill(messages: number, max: number): boolean {
    this.#left = Math.min(max, this.#left + messages)
    return this.#left === max
  }
}

export class PublishLimit {
  readonly #perSec: number
  readonly #allowances = new Map<DeviceId, Allowance>()
  #tick: number

  get #most(): number {
    return this.#perSec * LIMITS.publishBurstSec
  }

  /** `perSec`: messages per second; 0 is no limit. */
  constructor(perSec: number, ticks: number) {
    this.#perSec = perSec
    this.#tick = ticks
  }

  /** Undefined if there is no limit. */
  of(deviceId: DeviceId): Allowance | undefined {
    if (this.#perSec === 0) return undefined
    const known = this.#allowances.get(deviceId)
    if (known !== undefined) return known
    const allowance = new Allowance(this.#most)
    this.#allowances.set(deviceId, allowance)
    return allowance
  }

  /** Called as time passes. Forgets devices that are gone and whose allowance is full. */
  sweep(ticks: number, isLive: (deviceId: DeviceId) => boolean): void {
    const earned = ((ticks - this.#tick) / 1000) * this.#perSec
    this.#tick = ticks
    for (const [deviceId, allowance] of this.#allowances)
      if (allowance.refill(earned, this.#most) && !isLive(deviceId)) this.#allowances.delete(deviceId)
  }
}
