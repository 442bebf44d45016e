// Finds devices by filter, sort and page over the columns of all devices, in a few milliseconds for 50 000.
import { type DeviceId, Partition } from '../../../../schemas/ids.ts'
import { DEVICE_STATUSES, type DeviceStatus } from '../../../../schemas/vocabulary.ts'
import type { DeviceRecord } from '../../../domain/device/record.ts'
import { unreachable } from '../../../domain/unreachable.ts'
import { LIMITS } from '../../../limits.ts'
import type { DeviceFilter, DevicePageQuery, DeviceSort, DeviceSummary } from '../../../ports/store.ts'
import { DeviceColumns } from './device-columns.ts'
import { OrderedSlots } from './ordered-slots.ts'
import { sortByKey } from './radix-sort.ts'
import { SubDevices } from './sub-devices.ts'

export interface IdPage {
  readonly ids: readonly DeviceId[]
  readonly total: number
}

export class DeviceIndex {
  readonly #columns = new DeviceColumns()
  readonly #byId: OrderedSlots
  readonly #byName: OrderedSlots
  readonly #subDevices = new SubDevices()

  constructor() {
    const { ids, names } = this.#columns
    this.#byId = new OrderedSlots((a, b) => compareText(ids[a], ids[b]))
    this.#byName = new OrderedSlots((a, b) => compareText(names[a], names[b]))
  }

  get size(): number {
    return this.#columns.size
  }

  put(device: DeviceRecord, partition: Partition): void {
    const { slot, isNew, isRenamed } = this.#columns.put(device, partition)
    if (isNew) this.#byId.note(slot)
    if (isNew) this.#subDevices.add(device, slot)
    if (isRenamed) this.#byName.note(slot)
  }

  remove(id: DeviceId): void {
    const slot = this.#columns.remove(id)
    if (slot === undefined) return
    this.#byId.drop(slot)
    this.#byName.drop(slot)
    this.#subDevices.remove(slot)
  }

  has(id: DeviceId): boolean {
    return this.#columns.slots.has(id)
  }

  partitionOf(id: DeviceId): Partition | undefined {
    const slot = this.#columns.slots.get(id)
    return slot === undefined ? undefined : Partition(this.#columns.partition[slot] ?? 0)
  }

  subDevices(id: DeviceId): readonly DeviceId[] {
    const { ids } = this.#columns
    const found: DeviceId[] = []
    // Runs for each registration of a sub-device: thousands of times in a bulk registration.
    for (const slot of this.#subDevices.slotsOf(id)) {
      const subId = ids[slot]
      if (subId !== undefined) found.push(subId)
    }
    return found
  }

  /** The devices of these partitions, by id. */
  idsOf(partitions: ReadonlySet<Partition>): readonly DeviceId[] {
    const wanted = Array.from({ length: LIMITS.partitions }, (_, p) => partitions.has(Partition(p)))
    const { ids, partition } = this.#columns
    const found: DeviceId[] = []
    for (const slot of this.#byId.order()) {
      const id = ids[slot]
      if (id !== undefined && wanted[partition[slot] ?? 0]) found.push(id)
    }
    return found
  }

  summary(id: DeviceId): DeviceSummary | undefined {
    const columns = this.#columns
    const slot = columns.slots.get(id)
    if (slot === undefined) return undefined
    return {
      id,
      name: columns.names[slot] ?? '',
      type: columns.types.valueOf(columns.type[slot] ?? 0) ?? '',
      status: columns.statusOf(slot),
      group: columns.groups.valueOf(columns.group[slot] ?? 0) || undefined,
      tags: columns.tagSets.valueOf(columns.tagSet[slot] ?? 0) ?? [],
    }
  }

  countByStatus(): Readonly<Record<DeviceStatus, number>> {
    return { ...this.#columns.counts }
  }

  /** Newest first if no sort is given; other sorts ascend unless told otherwise. Ties go by id, ascending. */
  find(filter: DeviceFilter, page: DevicePageQuery): IdPage {
    const matching = this.#matching(filter)
    const { offset, limit, sort, descending } = page
    const sorted = this.#sorted(matching, sort ?? 'created_at', descending ?? sort === undefined)
    const slots = sorted.subarray(offset, offset + limit)
    // Every slot in an order has an id.
    const ids = Array.from(slots, (slot) => this.#columns.ids[slot] as DeviceId)
    return { ids, total: matching.length }
  }

  matching(filter: DeviceFilter): readonly DeviceId[] {
    // Every slot in an order has an id.
    return Array.from(this.#matching(filter), (slot) => this.#columns.ids[slot] as DeviceId)
  }

  #matching(filter: DeviceFilter): Uint32Array {
    const columns = this.#columns
    const order = this.#byId.order()
    const statusOk = filter.status === undefined ? undefined : statusTable([filter.status].flat())
    const { type, tags, q, parentId, firmwareVersion } = filter
    const children = parentId === undefined ? undefined : this.#subDevices.slotsOf(parentId)
    const typeOk = type === undefined ? undefined : columns.types.table((value) => value === type)
    const groupOk = groupTable(columns, filter)
    const tagsOk = tags?.length
      ? columns.tagSets.table((set) => tags.every((tag) => set.includes(tag)))
      : undefined
    const firmwareOk =
      firmwareVersion === undefined
        ? undefined
        : columns.firmwares.table((value) => value === firmwareVersion)
    const prefix = q === undefined || q === '' ? undefined : q.toLowerCase()
    const found = new Uint32Array(order.length)
    let count = 0
    for (const slot of order) {
      if (children !== undefined && !children.has(slot)) continue
      if (statusOk !== undefined && statusOk[columns.status[slot] ?? 0] !== 1) continue
      if (typeOk !== undefined && typeOk[columns.type[slot] ?? 0] !== 1) continue
      if (groupOk !== undefined && groupOk[columns.group[slot] ?? 0] !== 1) continue
      if (tagsOk !== undefined && tagsOk[columns.tagSet[slot] ?? 0] !== 1) continue
      if (firmwareOk !== undefined && firmwareOk[columns.firmware[slot] ?? 0] !== 1) continue
      if (prefix !== undefined && !this.#startsWith(slot, prefix)) continue
      found[count++] = slot
    }
    return found.subarray(0, count)
  }

  #startsWith(slot: number, prefix: string): boolean {
    const { foldedNames, foldedIds } = this.#columns
    return foldedNames[slot]?.startsWith(prefix) === true || foldedIds[slot]?.startsWith(prefix) === true
  }

  /** `slots` come ordered by id, and every sort is stable. */
  #sorted(slots: Uint32Array, sort: DeviceSort, descending: boolean): Uint32Array {
    const columns = this.#columns
    const by = (keyOf: (slot: number) => number) => sortByKey(slots, keyOf, descending)
    switch (sort) {
      case 'device_id':
        return descending ? slots.slice().reverse() : slots
      case 'created_at':
        return by((slot) => columns.createdAt[slot] ?? 0)
      case 'updated_at':
        return by((slot) => columns.updatedAt[slot] ?? 0)
      case 'name':
        return by(byRank(this.#nameRanks()))
      case 'status':
        return by(byCode(columns.status, STATUS_RANKS))
      case 'type':
        return by(byCode(columns.type, columns.types.ranks(compareText)))
      case 'group':
        return by(byCode(columns.group, columns.groups.ranks(compareText)))
      default:
        return unreachable(sort)
    }
  }

  #nameRanks(): Float64Array {
    const { names } = this.#columns
    const ranks = new Float64Array(this.#columns.size)
    let rank = 0
    let before: string | undefined
    for (const slot of this.#byName.order()) {
      const name = names[slot]
      if (name !== before) rank++
      ranks[slot] = rank
      before = name
    }
    return ranks
  }
}

const STATUS_RANKS = Float64Array.from(DEVICE_STATUSES, (status) =>
  [...DEVICE_STATUSES].sort().indexOf(status),
)

/** A table with 1 for each status that passes. */
function statusTable(wanted: readonly DeviceStatus[]): Uint8Array {
  return Uint8Array.from(DEVICE_STATUSES, (status) => (wanted.includes(status) ? 1 : 0))
}

/** A table of the groups that pass: in the subtree or group asked for, and within one of the allowed subtrees. */
function groupTable(columns: DeviceColumns, filter: DeviceFilter): Uint8Array | undefined {
  const { group, groupExact, within } = filter
  if (group === undefined && within === undefined) return undefined
  return columns.groups.table((value) => {
    const isAsked = group === undefined || value === group || (!groupExact && isBelow(value, group))
    return isAsked && (within === undefined || within.some((root) => value === root || isBelow(value, root)))
  })
}

/** `eu/berlin` is below `eu`; `europe` is not. */
function isBelow(group: string, root: string): boolean {
  return group.startsWith(root) && group.charCodeAt(root.length) === 0x2f
}

function byRank(ranks: Float64Array): (slot: number) => number {
  return (slot) => ranks[slot] ?? 0
}

function byCode(codes: Uint8Array | Uint32Array, ranks: Float64Array): (slot: number) => number {
  return (slot) => ranks[codes[slot] ?? 0] ?? 0
}

/** Compares code units, so that the order does not depend on language settings. */
function compareText(a: string | undefined, b: string | undefined): number {
  if (a === b || a === undefined || b === undefined) return 0
  return a < b ? -1 : 1
}
