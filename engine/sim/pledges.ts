// What callers of the REST API were told about commands and shadows, and what must therefore be true.
import type { BroadcastId, DeviceId } from '../../schemas/ids.ts'

/** The promises about one device. */
export interface Pledge {
  /** The newest desired value that was accepted. */
  wish: number
  wishes: number
  /** The versions that successful writes got. */
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
      wish: 0,
      wishes: 0,
      versions: new Set(),
      commands: new Set(),
      cancelled: new Set(),
    }
    this.#byDevice.set(id, pledge)
    return pledge
  }
}
