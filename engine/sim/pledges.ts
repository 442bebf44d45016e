// What callers of the REST API were told about commands and shadows, and what must be true in the end.
import type { BroadcastId, DeviceId } from '../../schemas/ids.ts'

/** The promises about the shadow and the commands of one device. */
export interface Pledge {
  /** The newest desired value that was accepted. */
  desiredAccepted: number
  /** How many desired values were sent. */
  desiredSent: number
  /** The shadow versions that successful writes were given. */
  readonly versions: Set<number>
  readonly commands: Set<string>
  readonly cancelled: Set<string>
}

export class Pledges {
  /** Broadcasts that were accepted. */
  readonly broadcasts = new Set<BroadcastId>()
  readonly #byDevice = new Map<DeviceId, Pledge>()

  of({ id }: { readonly id: DeviceId }): Pledge {
    const known = this.#byDevice.get(id)
    if (known !== undefined) return known
    const pledge: Pledge = {
      desiredAccepted: 0,
      desiredSent: 0,
      versions: new Set(),
      commands: new Set(),
      cancelled: new Set(),
    }
    this.#byDevice.set(id, pledge)
    return pledge
  }
}
