// The orders by id, name and time of creation, each kept from its first use on. These fields seldom change, and sorting 50 000
// devices anew takes longer than everything else that a page of a list needs. The orders in lower case are for the search by
// prefix.
import type { DeviceSort } from '../../../ports/store.ts'
import type { ColumnChange, DeviceColumns } from './device-columns.ts'
import { OrderedSlots } from './ordered-slots.ts'

export type KeptSort = Extract<DeviceSort, 'device_id' | 'name' | 'created_at'>
export type FoldedSort = 'folded_id' | 'folded_name'

const ASCENDING = 1
const DESCENDING = -1

export class KeptOrders {
  readonly #columns: DeviceColumns
  readonly #orders = new Map<string, { readonly sort: KeptSort | FoldedSort; readonly slots: OrderedSlots }>()

  constructor(columns: DeviceColumns) {
    this.#columns = columns
  }

  /** Ties go by id, ascending either way. */
  of(sort: KeptSort | FoldedSort, { descending }: { readonly descending: boolean }): Uint32Array {
    const name = descending ? `-${sort}` : sort
    const known = this.#orders.get(name)
    if (known !== undefined) return known.slots.order()
    const slots = new OrderedSlots(this.#comparison(sort, descending ? DESCENDING : ASCENDING))
    for (const slot of this.#columns.slots.values()) slots.note(slot)
    this.#orders.set(name, { sort, slots })
    return slots.order()
  }

  put({ slot, isNew, isRenamed, isRedated }: ColumnChange): void {
    for (const { sort, slots } of this.#orders.values())
      if (isNew || (isRenamed && sort.endsWith('name')) || (isRedated && sort === 'created_at'))
        slots.note(slot)
  }

  drop(slot: number): void {
    for (const { slots } of this.#orders.values()) slots.drop(slot)
  }

  #comparison(sort: KeptSort | FoldedSort, way: number): (a: number, b: number) => number {
    const columns = this.#columns
    const { ids, names, foldedIds, foldedNames } = columns
    const byId = (a: number, b: number) => compareText(ids[a], ids[b])
    switch (sort) {
      case 'device_id':
        return (a, b) => way * byId(a, b)
      case 'name':
        return (a, b) => way * compareText(names[a], names[b]) || byId(a, b)
      case 'folded_id':
        return (a, b) => way * compareText(foldedIds[a], foldedIds[b])
      case 'folded_name':
        return (a, b) => way * compareText(foldedNames[a], foldedNames[b])
      case 'created_at':
        return (a, b) => way * ((columns.createdAt[a] ?? 0) - (columns.createdAt[b] ?? 0)) || byId(a, b)
    }
  }
}

/** Compares code units, so that the order does not depend on language settings. */
export function compareText(a: string | undefined, b: string | undefined): number {
  if (a === b || a === undefined || b === undefined) return 0
  return a < b ? -1 : 1
}
