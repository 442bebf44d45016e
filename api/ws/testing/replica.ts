// A client's copy of the fleet, for tests, built from the index and deltas of the channel `fleet` in any order.
import type { FleetIndex } from '../../../schemas/fleet.ts'
import type { Json } from '../../../schemas/json.ts'
import { DEVICE_STATUSES } from '../../../schemas/vocabulary.ts'
import type { FleetDelta } from '../../../schemas/ws.ts'

type Row = Record<string, Json>

export class Replica {
  readonly #rows = new Map<string, Row>()
  /** The rev at which each device was removed. */
  readonly #removedAt = new Map<string, number>()

  read({ columns, groups, tags, types, firmware }: FleetIndex): void {
    columns.device_id.forEach((id, i) => {
      const [group, version] = [columns.group[i], columns.firmware[i]]
      this.#put(id, columns.rev[i] ?? 0, {
        status: columns.status[i] ?? 0,
        flags: columns.flags[i] ?? 0,
        since_ms: columns.since_ms[i] ?? 0,
        last_seen_ms: columns.last_seen_ms[i] ?? null,
        name: columns.name[i] ?? '',
        type: types[columns.type[i] ?? 0] ?? '',
        group: group == null ? null : (groups[group] ?? ''),
        tags: (columns.tags[i] ?? []).map((tag) => tags[tag] ?? ''),
        parent_id: columns.parent_id[i] ?? null,
        firmware: version == null ? null : (firmware[version] ?? ''),
      })
    })
  }

  take(delta: FleetDelta): void {
    const { device_id: ids, rev, values: _, removed = [], removed_rev: removedRevs = [], ...columns } = delta
    ids.forEach((id, i) => {
      const columnValues = Object.entries(columns).map(([name, column]) => [name, column?.[i]])
      // The columns of a delta hold JSON.
      this.#put(id, rev[i] ?? 0, Object.fromEntries(columnValues) as Row)
    })
    removed.forEach((id, i) => {
      const at = removedRevs[i] ?? 0
      if (at < Number(this.#rows.get(id)?.['rev'] ?? 0)) return
      this.#rows.delete(id)
      this.#removedAt.set(id, Math.max(at, this.#removedAt.get(id) ?? 0))
    })
  }

  /** Rows without `rev`, by id. */
  rows(): Readonly<Record<string, Row>> {
    const rows = [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(
      rows.map(([id, { rev: _, status, ...row }]) => [
        id,
        { ...row, status: DEVICE_STATUSES[Number(status)] ?? '' },
      ]),
    )
  }

  #put(id: string, rev: number, columnValues: Row): void {
    const known = this.#rows.get(id)
    if (rev <= Math.max(Number(known?.['rev'] ?? -1), this.#removedAt.get(id) ?? -1)) return
    // A delta with only some columns is not enough to add an unknown device.
    if (known === undefined && columnValues['name'] === undefined) return
    this.#rows.set(id, { ...known, ...columnValues, rev })
  }
}
