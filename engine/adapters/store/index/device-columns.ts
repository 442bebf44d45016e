// What lists, filters and scopes need from every device, as columns: one slot per device and no object.
import type { DeviceId, Partition } from '../../../../schemas/ids.ts'
import { DEVICE_STATUSES, type DeviceStatus } from '../../../../schemas/vocabulary.ts'
import type { DeviceRecord } from '../../../domain/device/record.ts'
import { Interner } from './interner.ts'

export interface ColumnChange {
  readonly slot: number
  readonly isNew: boolean
  readonly isRenamed: boolean
  /** The id is that of another device than before, which was created at another time. */
  readonly isRedated: boolean
}

const SLOTS_START = 1024
const text = (value: string): string => value

export class DeviceColumns {
  readonly slots = new Map<DeviceId, number>()
  readonly ids: DeviceId[] = []
  /** Lower case, for the search by prefix; the same string object as the id if they do not differ. */
  readonly foldedIds: string[] = []
  readonly names: string[] = []
  readonly foldedNames: string[] = []
  readonly types = new Interner<string>(text)
  /** The empty text stands for a device without a group. */
  readonly groups = new Interner<string>(text)
  readonly tagSets = new Interner<readonly string[]>((tags) => tags.join('\u0000'))
  /** The empty text stands for a device that has not reported its version. */
  readonly firmwares = new Interner<string>(text)
  readonly counts: Record<DeviceStatus, number> = {
    provisioning: 0,
    online: 0,
    offline: 0,
    error: 0,
    maintenance: 0,
    decommissioned: 0,
  }
  status = new Uint8Array(SLOTS_START)
  partition = new Uint8Array(SLOTS_START)
  type = new Uint32Array(SLOTS_START)
  group = new Uint32Array(SLOTS_START)
  tagSet = new Uint32Array(SLOTS_START)
  firmware = new Uint32Array(SLOTS_START)
  createdAt = new Float64Array(SLOTS_START)
  updatedAt = new Float64Array(SLOTS_START)

  get size(): number {
    return this.ids.length
  }

  put(device: DeviceRecord, partition: Partition): ColumnChange {
    const known = this.slots.get(device.id)
    const slot = known ?? this.#add(device.id, partition)
    const isRenamed = this.names[slot] !== device.name
    const isRedated = this.createdAt[slot] !== device.createdAt
    if (known !== undefined) this.#forget(slot)
    if (isRenamed) {
      this.names[slot] = compact(device.name)
      this.foldedNames[slot] = fold(this.names[slot])
    }
    this.status[slot] = DEVICE_STATUSES.indexOf(device.status)
    this.counts[device.status]++
    this.type[slot] = this.types.acquire(device.type)
    this.group[slot] = this.groups.acquire(device.group ?? '')
    this.tagSet[slot] = this.tagSets.acquire(device.tags)
    this.firmware[slot] = this.firmwares.acquire(device.firmwareVersion ?? '')
    this.createdAt[slot] = device.createdAt
    this.updatedAt[slot] = device.updatedAt
    return { slot, isNew: known === undefined, isRenamed, isRedated }
  }

  /** Returns the freed slot. It is never used again, so the sorted orders need not be told. */
  remove(id: DeviceId): number | undefined {
    const slot = this.slots.get(id)
    if (slot === undefined) return undefined
    this.#forget(slot)
    this.slots.delete(id)
    return slot
  }

  statusOf(slot: number): DeviceStatus {
    return DEVICE_STATUSES[this.status[slot] ?? 0] ?? 'provisioning'
  }

  #add(id: DeviceId, partition: Partition): number {
    const slot = this.ids.length
    if (slot === this.status.length) this.#grow()
    // A copy of the id, without the buffer that it was read from.
    const own = compact(id) as DeviceId
    this.slots.set(own, slot)
    this.ids.push(own)
    this.foldedIds.push(fold(own))
    this.partition[slot] = partition
    return slot
  }

  #forget(slot: number): void {
    this.counts[this.statusOf(slot)]--
    this.types.release(this.type[slot] ?? 0)
    this.groups.release(this.group[slot] ?? 0)
    this.tagSets.release(this.tagSet[slot] ?? 0)
    this.firmwares.release(this.firmware[slot] ?? 0)
  }

  #grow(): void {
    this.status = grown(this.status, new Uint8Array(this.status.length * 2))
    this.partition = grown(this.partition, new Uint8Array(this.partition.length * 2))
    this.type = grown(this.type, new Uint32Array(this.type.length * 2))
    this.group = grown(this.group, new Uint32Array(this.group.length * 2))
    this.tagSet = grown(this.tagSet, new Uint32Array(this.tagSet.length * 2))
    this.firmware = grown(this.firmware, new Uint32Array(this.firmware.length * 2))
    this.createdAt = grown(this.createdAt, new Float64Array(this.createdAt.length * 2))
    this.updatedAt = grown(this.updatedAt, new Float64Array(this.updatedAt.length * 2))
  }
}

function grown<T extends Uint8Array | Uint32Array | Float64Array>(from: T, into: T): T {
  into.set(from)
  return into
}

function fold(value: string): string {
  const folded = value.toLowerCase()
  return folded === value ? value : folded
}

/** A string cut out of a decoded record keeps the whole record alive; a copy does not. */
function compact(value: string): string {
  return Buffer.from(value, 'utf8').toString('utf8')
}
