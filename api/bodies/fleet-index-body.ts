// The fleet's table as the columns of REST: repeated texts are listed once, and columns refer to them by position.

import type { FleetRow } from '../../engine/domain/fleet/row.ts'
import { countByStatus } from '../../engine/domain/fleet/selection.ts'
import type { FleetTable } from '../../engine/ports/fleet.ts'
import type { FleetIndex, IndexNames } from '../../schemas/fleet.ts'
import { type Millis, toIso } from '../../schemas/ids.ts'
import { DEVICE_STATUSES, type DeviceStatus } from '../../schemas/vocabulary.ts'

export interface FleetIndexParts {
  readonly table: FleetTable
  readonly at: Millis
  readonly cursor: string
  /** All rows that match. */
  readonly places: readonly number[]
  /** The rows to be included. Empty if there are too many. */
  readonly shown: readonly number[]
  readonly isTruncated: boolean
  /** Whether to send the names. They are sent with the other columns by default. */
  readonly names?: IndexNames
  /** Set if the answer has only changes. */
  readonly removed?: readonly string[] | undefined
}

const STATUS_PLACES = new Map<DeviceStatus, number>(DEVICE_STATUSES.map((status, i) => [status, i]))

export function fleetIndexBody(parts: FleetIndexParts): FleetIndex {
  const { table, places, shown, removed, names = 'with' } = parts
  const types = new StringTable()
  const groups = new StringTable()
  const tags = new StringTable()
  const firmware = new StringTable()
  const columns = newColumns()
  for (const place of shown) {
    // The table itself provided the places.
    const row = table.rows[place] as FleetRow
    columns.device_id.push(table.ids[place] as string)
    columns.rev.push(table.revs[place] ?? 0)
    if (names !== 'without') columns.name.push(row.name)
    if (names === 'only') continue
    columns.status.push(STATUS_PLACES.get(row.status) ?? 0)
    columns.type.push(types.placeOf(row.type))
    columns.group.push(row.group === undefined ? null : groups.placeOf(row.group))
    columns.tags.push(row.tags.map((tag) => tags.placeOf(tag)))
    columns.parent_id.push(row.parentId ?? null)
    columns.firmware.push(row.firmware === undefined ? null : firmware.placeOf(row.firmware))
    columns.flags.push(row.flags)
    columns.last_seen_ms.push(table.seenAt[place] || null)
    columns.since_ms.push(row.since)
  }
  return {
    at: toIso(parts.at),
    cursor: parts.cursor,
    total: places.length,
    truncated: parts.isTruncated,
    by_status: countByStatus(table, places),
    statuses: [...DEVICE_STATUSES],
    types: types.list,
    groups: groups.list,
    tags: tags.list,
    firmware: firmware.list,
    columns,
    ...(removed === undefined ? {} : { removed: [...removed] }),
  }
}

class StringTable {
  readonly list: string[] = []
  readonly #places = new Map<string, number>()

  placeOf(word: string): number {
    const known = this.#places.get(word)
    if (known !== undefined) return known
    const place = this.list.length
    this.#places.set(word, place)
    this.list.push(word)
    return place
  }
}

function newColumns(): FleetIndex['columns'] {
  return {
    device_id: [],
    name: [],
    status: [],
    type: [],
    group: [],
    tags: [],
    parent_id: [],
    firmware: [],
    flags: [],
    rev: [],
    last_seen_ms: [],
    since_ms: [],
  }
}
