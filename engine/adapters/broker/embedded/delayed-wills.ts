// Last wills that wait for their device to return, at most one per device [MQTT-3.1.3-9].
import type { DeviceId } from '../../../../schemas/ids.ts'
import type { LiveSession } from './session-hub.ts'

interface DelayedWill {
  readonly session: LiveSession
  /** Monotonic milliseconds. */
  readonly dueAt: number
}

export class DelayedWills {
  readonly #waiting = new Map<DeviceId, DelayedWill>()

  add(session: LiveSession, dueAt: number): void {
    // The earlier of two sessions is over for good.
    this.#waiting.get(session.deviceId)?.session.publishWill()
    this.#waiting.set(session.deviceId, { session, dueAt })
  }

  /** Called when the device is back. Its will is still published if the session that it belongs to was given up. */
  returned(deviceId: DeviceId, { isSessionKept }: { readonly isSessionKept: boolean }): void {
    const delayed = this.#waiting.get(deviceId)
    this.#waiting.delete(deviceId)
    if (!isSessionKept) delayed?.session.publishWill()
  }

  forget(deviceId: DeviceId): void {
    this.#waiting.delete(deviceId)
  }

  sweep(ticks: number): void {
    for (const [deviceId, { session, dueAt }] of this.#waiting) {
      if (ticks < dueAt) continue
      this.#waiting.delete(deviceId)
      session.publishWill()
    }
  }
}
