// A fleet as the service has it, for tests: it answers the index as of now and what has changed since, as deltas.

import type { FleetIndex } from '../../../../../schemas/fleet.ts'
import { DEVICE_STATUSES } from '../../../../../schemas/vocabulary.ts'
import type { FleetDelta } from '../../../../../schemas/ws.ts'
import { FleetColumns } from '../columns.ts'
import { WordList } from '../word-list.ts'

export interface ModelDevice {
  readonly id: string
  readonly name: string
  /** A place in the vocabulary. */
  readonly status: number
  readonly type: string
  readonly group: string | null
  readonly tags: readonly string[]
  readonly parent: string | null
  readonly firmware: string | null
  readonly flags: number
  readonly seen: number | null
  readonly since: number
}

export const device = (id: string, changes: Partial<ModelDevice> = {}): ModelDevice => ({
  id,
  name: id,
  status: 1,
  type: 'mqtt_device',
  group: null,
  tags: [],
  parent: null,
  firmware: null,
  flags: 1,
  seen: 1000,
  since: 500,
  ...changes,
})

export class FleetModel {
  readonly devices = new Map<string, ModelDevice & { readonly rev: number }>()
  #revs = 0

  put(changed: ModelDevice): void {
    this.#revs += 1
    this.devices.set(changed.id, { ...changed, rev: this.#revs })
  }

  remove(id: string): void {
    this.#revs += 1
    this.devices.delete(id)
  }

  index(): FleetIndex {
    const rows = [...this.devices.values()]
    const types = new WordList()
    const groups = new WordList()
    const tags = new WordList()
    const firmware = new WordList()
    const place = (list: WordList, word: string | null) => (word === null ? null : list.placeOf(word))
    return {
      at: new Date(0).toISOString(),
      cursor: 'c',
      total: rows.length,
      truncated: false,
      by_status: {},
      statuses: [...DEVICE_STATUSES],
      columns: {
        device_id: rows.map(({ id }) => id),
        name: rows.map(({ name }) => name),
        status: rows.map(({ status }) => status),
        type: rows.map(({ type }) => types.placeOf(type)),
        group: rows.map(({ group }) => place(groups, group)),
        tags: rows.map((row) => row.tags.map((tag) => tags.placeOf(tag))),
        parent_id: rows.map(({ parent }) => parent),
        firmware: rows.map((row) => place(firmware, row.firmware)),
        flags: rows.map(({ flags }) => flags),
        rev: rows.map(({ rev }) => rev),
        last_seen_ms: rows.map(({ seen }) => seen),
        since_ms: rows.map(({ since }) => since),
      },
      types: types.words,
      groups: groups.words,
      tags: tags.words,
      firmware: firmware.words,
    }
  }

  /** Everything that has changed since `before`, as one frame with all columns, and the removed ones. */
  deltaSince(before: ReadonlyMap<string, { readonly rev: number }>): FleetDelta {
    const rows = [...this.devices.values()].filter(({ id, rev }) => before.get(id)?.rev !== rev)
    const removed = [...before.keys()].filter((id) => !this.devices.has(id))
    return {
      device_id: rows.map(({ id }) => id),
      rev: rows.map(({ rev }) => rev),
      status: rows.map(({ status }) => status),
      flags: rows.map(({ flags }) => flags),
      since_ms: rows.map(({ since }) => since),
      last_seen_ms: rows.map(({ seen }) => seen),
      name: rows.map(({ name }) => name),
      type: rows.map(({ type }) => type),
      group: rows.map(({ group }) => group),
      tags: rows.map(({ tags }) => tags),
      parent_id: rows.map(({ parent }) => parent),
      firmware: rows.map(({ firmware }) => firmware),
      ...(removed.length === 0 ? {} : { removed, removed_rev: removed.map(() => this.#revs) }),
    }
  }
}

/** The columns of an index with these devices. */
export function columnsOf(...devices: readonly ModelDevice[]): FleetColumns {
  const model = new FleetModel()
  for (const one of devices) model.put(one)
  const columns = new FleetColumns()
  columns.load(model.index())
  return columns
}
