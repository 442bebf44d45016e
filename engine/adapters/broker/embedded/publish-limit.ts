// Limits how fast a device may publish: bursts of up to `publishBurstSec` worth of messages, and the rate in the long run.
// A large message counts several times. Counted by device, not by session, so that reconnecting gains nothing.
// A gateway may publish as much as its sub-devices may together.
import type { DeviceId } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { DeviceSession, UplinkHost } from '../../../ports/broker.ts'

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
  readonly #burst: number
  readonly #allowances = new Map<DeviceId, Allowance>()
  #tick: number

  /** `perSec`: messages per second; 0 is no limit. */
  constructor(perSec: number, ticks: number) {
    this.#perSec = perSec
    this.#burst = perSec * LIMITS.publishBurstSec
    this.#tick = ticks
  }

  /** Undefined if there is no limit. */
  of(deviceId: DeviceId): Allowance | undefined {
    if (this.#perSec === 0) return undefined
    const known = this.#allowances.get(deviceId)
    if (known !== undefined) return known
    const allowance = new Allowance(this.#burst)
    this.#allowances.set(deviceId, allowance)
    return allowance
  }

  /**
   * Called as time passes. `sendersOf` tells how many devices send by the connection of this one, and 0 if it has none:
   * such a device is forgotten once its allowance is full.
   */
  sweep(ticks: number, sendersOf: (deviceId: DeviceId) => number): void {
    const earned = ((ticks - this.#tick) / 1000) * this.#perSec
    this.#tick = ticks
    for (const [deviceId, allowance] of this.#allowances) {
      const senders = sendersOf(deviceId)
      const share = Math.max(1, senders)
      if (allowance.refill(earned * share, this.#burst * share) && senders === 0)
        this.#allowances.delete(deviceId)
    }
  }
}

/** Zero for a device that is not connected. */
export function sendersOf(session: DeviceSession | undefined, host: UplinkHost): number {
  return session === undefined ? 0 : (host.sendersOf?.(session) ?? 1)
}
