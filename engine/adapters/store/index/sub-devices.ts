// Maps parents to their sub-devices. A device's parent is fixed at its registration.
import type { DeviceId } from '../../../../schemas/ids.ts'
import type { DeviceRecord } from '../../../domain/device/record.ts'

const NONE: ReadonlySet<number> = new Set()

export class SubDevices {
  readonly #slots = new Map<DeviceId, Set<number>>()
  readonly #parents = new Map<number, DeviceId>()

  add({ parentId }: DeviceRecord, slot: number): void {
    if (parentId === undefined) return
    this.#parents.set(slot, parentId)
    const known = this.#slots.get(parentId)
    if (known === undefined) this.#slots.set(parentId, new Set([slot]))
    else known.add(slot)
  }

  remove(slot: number): void {
    const parentId = this.#parents.get(slot)
    if (parentId === undefined) return
    this.#parents.delete(slot)
    const slots = this.#slots.get(parentId)
    slots?.delete(slot)
    if (slots?.size === 0) this.#slots.delete(parentId)
  }

  slotsOf(parentId: DeviceId): ReadonlySet<number> {
    return this.#slots.get(parentId) ?? NONE
  }
}
