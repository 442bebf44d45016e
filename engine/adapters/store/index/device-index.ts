// Finds devices by filter, sort and page over the columns of all devices, in a few milliseconds for 50 000.
import { type DeviceId, Partition } from '../../../../schemas/ids.ts'
import { DEVICE_STATUSES, type DeviceStatus } from '../../../../schemas/vocabulary.ts'
import type { DeviceRecord } from '../../../domain/device/record.ts'
import { firstWhere } from '../../../domain/first-where.ts'
import { unreachable } from '../../../domain/unreachable.ts'
import { LIMITS } from '../../../limits.ts'
import type { DeviceFilter, DevicePageQuery, DeviceSort, DeviceSummary } from '../../../ports/store.ts'
import { DeviceColumns } from './device-columns.ts'
import { compareText, KeptOrders, type KeptSort } from './kept-orders.ts'
import { sortByKey } from './radix-sort.ts'
import { SubDevices } from './sub-devices.ts'

export interface IdPage {
  readonly ids: readonly DeviceId[]
  readonly total: number
}

export class DeviceIndex {
  readonly #columns = new DeviceColumns()
  readonly #orders = new KeptOrders(this.#columns)
  readonly #subDevices = new SubDevices()

  get size(): number {
    return this.#columns.size
  }

  put(device: DeviceRecord, partition: Partition): void {
    const change = this.#columns.put(device, partition)
    this.#orders.put(change)
    if (change.isNew) this.#subDevices.add(device, change.slot)
  }

  remove(id: DeviceId): void {
    const slot = this.#columns.remove(id)
    if (slot === undefined) return
    this.#orders.drop(slot)
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
    for (const slot of this.#orders.of('device_id', { descending: false })) {
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
    const { offset, limit, sort = 'created_at', descending = page.sort === undefined } = page
    const slots = isKept(sort)
      ? this.#matching(filter, this.#orders.of(sort, { descending }))
      : this.#sorted(this.#matching(filter), sort, descending)
    // Every slot in an order has an id.
    const ids = Array.from(
      slots.subarray(offset, offset + limit),
      (slot) => this.#columns.ids[slot] as DeviceId,
    )
    return { ids, total: slots.length }
  }

  matching(filter: DeviceFilter): readonly DeviceId[] {
    // Every slot in an order has an id.
    return Array.from(this.#matching(filter), (slot) => this.#columns.ids[slot] as DeviceId)
  }

  /** The slots of `order` that pass, in that order. Not a copy if all pass. */
  #matching(
    { type, tags, q, parentId, firmwareVersion, status, ...groups }: DeviceFilter,
    order = this.#orders.of('device_id', { descending: false }),
  ): Uint32Array {
    const columns = this.#columns
    const groupTable = tableOfGroups(columns, groups)
    let slots = order
    if (status !== undefined) slots = coded(slots, columns.status, statusTable([status].flat()))
    if (type !== undefined)
      slots = coded(
        slots,
        columns.type,
        columns.types.table((value) => value === type),
      )
    if (groupTable !== undefined) slots = coded(slots, columns.group, groupTable)
    if (tags?.length) {
      const hasAll = columns.tagSets.table((set) => tags.every((tag) => set.includes(tag)))
      slots = coded(slots, columns.tagSet, hasAll)
    }
    if (firmwareVersion !== undefined) {
      const isIt = columns.firmwares.table((value) => value === firmwareVersion)
      slots = coded(slots, columns.firmware, isIt)
    }
    if (parentId !== undefined) {
      const children = this.#subDevices.slotsOf(parentId)
      slots = slots.filter((slot) => children.has(slot))
    }
    if (q !== undefined && q !== '') slots = coded(slots, this.#startingWith(q.toLowerCase()), MARKED)
    return slots
  }

  /** Marks with 1 the slots whose name or id starts with the prefix. */
  #startingWith(prefix: string): Uint8Array {
    const { size, foldedIds, foldedNames } = this.#columns
    const marks = new Uint8Array(size)
    const mark = (order: Uint32Array, texts: readonly string[]) => {
      const textAt = (place: number) => texts[order[place] ?? 0] ?? ''
      let place = firstWhere(0, order.length, (at) => textAt(at) >= prefix)
      for (; place < order.length && textAt(place).startsWith(prefix); place++) marks[order[place] ?? 0] = 1
    }
    mark(this.#orders.of('folded_id', { descending: false }), foldedIds)
    mark(this.#orders.of('folded_name', { descending: false }), foldedNames)
    return marks
  }

  /** `slots` come ordered by id, and every sort is stable. */
  #sorted(slots: Uint32Array, sort: Exclude<DeviceSort, KeptSort>, descending: boolean): Uint32Array {
    const columns = this.#columns
    const by = (keyOf: (slot: number) => number) => sortByKey(slots, keyOf, descending)
    switch (sort) {
      case 'updated_at':
        return by((slot) => columns.updatedAt[slot] ?? 0)
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
}

const isKept = (sort: DeviceSort): sort is KeptSort =>
  sort === 'device_id' || sort === 'name' || sort === 'created_at'

const STATUS_RANKS = Float64Array.from(DEVICE_STATUSES, (status) =>
  [...DEVICE_STATUSES].sort().indexOf(status),
)

/** Passes what is marked with 1. */
const MARKED = Uint8Array.of(0, 1)

/** The slots whose code has 1 in the table. A callback for each slot takes three times as long. */
function coded(slots: Uint32Array, codes: Uint8Array | Uint32Array, table: Uint8Array): Uint32Array {
  const found = new Uint32Array(slots.length)
  let count = 0
  for (let i = 0; i < slots.length; i++) {
    const slot = slots[i] ?? 0
    if (table[codes[slot] ?? 0] === 1) found[count++] = slot
  }
  return found.subarray(0, count)
}

/** A table with 1 for each status that passes. */
function statusTable(wanted: readonly DeviceStatus[]): Uint8Array {
  return Uint8Array.from(DEVICE_STATUSES, (status) => (wanted.includes(status) ? 1 : 0))
}

/** A table of the groups that pass: in the subtree or group asked for, and within one of the allowed subtrees. */
function tableOfGroups(
  columns: DeviceColumns,
  { group, groupExact, within }: Pick<DeviceFilter, 'group' | 'groupExact' | 'within'>,
): Uint8Array | undefined {
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

function byCode(codes: Uint8Array | Uint32Array, ranks: Float64Array): (slot: number) => number {
  return (slot) => ranks[codes[slot] ?? 0] ?? 0
}
