// The session states that outlive connections, by device.
import type { DeviceId } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { SessionState } from './session-state.ts'

/** A device of MQTT 3.1.1 with a clean session asks for 0, and one without for infinity. */
export interface SessionRequest {
  readonly clean: boolean
  readonly expirySec: number
}

export class SessionStates {
  readonly #persistent = new Map<DeviceId, SessionState>()
  #sweptAt = 0

  /** Returns the state for a device that connects. `present` is true if the device had one before. */
  claim(
    deviceId: DeviceId,
    { clean, expirySec }: SessionRequest,
    ticks: number,
  ): { readonly state: SessionState; readonly present: boolean } {
    const earlier = this.#persistent.get(deviceId)
    const present = earlier !== undefined && !clean && ticks < earlier.expiresAt
    const state = present ? earlier : new SessionState(expirySec)
    state.expirySec = expirySec
    state.expiresAt = Number.POSITIVE_INFINITY
    if (expirySec > 0) this.#persistent.set(deviceId, state)
    else this.#persistent.delete(deviceId)
    return { state, present }
  }

  /** Called when the connection that used this state is over. The device may already have a newer state. */
  release(deviceId: DeviceId, state: SessionState, ticks: number): void {
    if (this.#persistent.get(deviceId) !== state) return
    if (state.isPersistent) state.expiresAt = ticks + state.expirySec * 1000
    else this.#persistent.delete(deviceId)
  }

  get(deviceId: DeviceId): SessionState | undefined {
    return this.#persistent.get(deviceId)
  }

  forget(deviceId: DeviceId): void {
    this.#persistent.delete(deviceId)
  }

  /** Called as time passes. Removes expired states now and then. */
  sweep(ticks: number): void {
    if (ticks - this.#sweptAt < LIMITS.sessionExpiryEveryMs) return
    this.#sweptAt = ticks
    for (const [deviceId, { expiresAt }] of this.#persistent)
      if (ticks >= expiresAt) this.#persistent.delete(deviceId)
  }
}
