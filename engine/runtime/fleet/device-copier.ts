// Keeps the table `devices` in ClickHouse equal to the records. The leader does this for all nodes.
//
// DC1. The records are the truth, and the table follows from them. A leader begins with a copy of all devices and repeats
//      it from time to time, so a crash between the two leaves nothing wrong for long.
// DC2. A row is newer than every row made before it, whatever the clocks of the leaders say: the store keeps the highest
//      version used.
import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import { encodeDevices, toRowBody } from '../../domain/fleet/device-rows.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Directory, Store } from '../../ports/store.ts'
import type { Telemetry } from '../../ports/telemetry.ts'

/** A fact in the store. Once it is set, the table has every device. */
export const DEVICES_COPIED = 'devices_copied'

const NEWEST_VERSION = 'devices_version'

export interface DeviceCopierPorts {
  readonly devices: Pick<Directory, 'matching' | 'summary'>
  readonly store: Pick<Store, 'getFact' | 'putFact'>
  readonly telemetry: Pick<Telemetry, 'insert'>
  readonly clock: Pick<Clock, 'now'>
  readonly schedule: Pick<Schedule, 'every' | 'sleep'>
  readonly failed: (error: unknown) => void
}

export class DeviceCopier {
  readonly #ports: DeviceCopierPorts
  /** The content of each device's row, as last copied. */
  #copied = new Map<DeviceId, string>()
  #allAt = Number.NEGATIVE_INFINITY
  #stop: (() => void) | undefined
  #isCopying = false

  constructor(ports: DeviceCopierPorts) {
    this.#ports = ports
  }

  open(): void {
    this.#stop = this.#ports.schedule.every(LIMITS.devicesCopyEveryMs, () => void this.#round())
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#copied = new Map()
    this.#allAt = Number.NEGATIVE_INFINITY
  }

  /** Called once a device was purged, and its row with it. Its id may come again before the next round. */
  forget(id: DeviceId): void {
    this.#copied.delete(id)
  }

  /** Copies the changed devices, or all. Rejects if ClickHouse does not take the rows. */
  async copy({ isWhole }: { readonly isWhole: boolean }): Promise<number> {
    const { devices, schedule } = this.#ports
    let fresh = new Map<DeviceId, string>()
    let rows = 0
    let looked = 0
    const insert = async () => {
      rows += await this.#insert(fresh)
      fresh = new Map()
    }
    const ids = devices.matching({})
    for (const id of ids) {
      const device = devices.summary(id)
      const description = device === undefined ? undefined : toRowBody(device)
      if (description !== undefined && (isWhole || this.#copied.get(id) !== description))
        fresh.set(id, description)
      if (fresh.size >= LIMITS.devicesCopiedAtOnce) await insert()
      // Gives way, so that other work does not wait for long.
      if (++looked % LIMITS.censusDevicesAtOnce === 0) await schedule.sleep(0)
    }
    await insert()
    this.#forget(ids)
    if (isWhole) await this.#ports.store.putFact(DEVICES_COPIED, 'true')
    return rows
  }

  async #round(): Promise<void> {
    if (this.#isCopying) return
    this.#isCopying = true
    const now = this.#ports.clock.now()
    try {
      const isWhole = now - this.#allAt >= LIMITS.devicesCopyAllEveryMs
      await this.copy({ isWhole })
      if (isWhole && this.#stop !== undefined) this.#allAt = now
    } catch (error) {
      // The next round tries again (DC1).
      if (!(error instanceof Fault && error.retryable)) this.#ports.failed(error)
    } finally {
      this.#isCopying = false
    }
  }

  async #insert(fresh: ReadonlyMap<DeviceId, string>): Promise<number> {
    const { clock, store, telemetry } = this.#ports
    if (fresh.size === 0) return 0
    const version = Math.max(clock.now(), Number(store.getFact(NEWEST_VERSION) ?? 0) + 1)
    // Saved first, so that the next leader's versions are higher whether or not these rows arrive (DC2).
    await store.putFact(NEWEST_VERSION, String(version))
    const block = encodeDevices(fresh, Millis(version))
    if (block === undefined) return 0
    await telemetry.insert({ kind: 'devices', ...block })
    for (const [id, description] of fresh) this.#copied.set(id, description)
    return block.rows
  }

  /** Forgets devices that no longer exist. A purge removes their rows, and an id may be registered again. */
  #forget(ids: readonly DeviceId[]): void {
    if (this.#copied.size <= ids.length) return
    const known = new Set(ids)
    for (const id of this.#copied.keys()) if (!known.has(id)) this.#copied.delete(id)
  }
}
