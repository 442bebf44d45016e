// Selects the rows of the fleet's table that a question is about, and counts them by status.
import { DEVICE_STATUSES, type DeviceStatus } from '../../../schemas/vocabulary.ts'
import { isInScope } from '../group-scope.ts'
import type { FleetPlacing, FleetTable } from './table.ts'

export interface FleetQuestion {
  /** Selects this group and the groups below it. */
  readonly group?: string | undefined
  readonly type?: string | undefined
  readonly tag?: string | undefined
  /** The subtrees that the asker may see. Undefined means all groups. */
  readonly within?: readonly string[] | undefined
}

export type StatusCounts = Readonly<Record<DeviceStatus, number>>

/** Returns a predicate for rows. It remembers the result for each group, because there are far fewer groups than
 *  devices. */
export function fleetJudge({ group, type, tag, within }: FleetQuestion): (row: FleetPlacing) => boolean {
  const verdicts = new Map<string | undefined, boolean>()
  const subtree = group === undefined ? undefined : [group]
  const isGroupFit = (of: string | undefined): boolean => {
    const known = verdicts.get(of)
    if (known !== undefined) return known
    const verdict = isInScope(of, within) && isInScope(of, subtree)
    verdicts.set(of, verdict)
    return verdict
  }
  return (row) =>
    (type === undefined || row.type === type) &&
    (tag === undefined || row.tags.includes(tag)) &&
    isGroupFit(row.group)
}

/** Questions with the same key have the same answer. */
export function questionKey({ group, type, tag, within }: FleetQuestion): string {
  return JSON.stringify([
    group ?? null,
    type ?? null,
    tag ?? null,
    within === undefined ? null : [...new Set(within)].sort(),
  ])
}

/** Returns the places of the rows that the question selects. */
export function placesOf(table: FleetTable, question: FleetQuestion): readonly number[] {
  const fits = fleetJudge(question)
  const places: number[] = []
  table.rows.forEach((row, place) => {
    if (row !== undefined && fits(row)) places.push(place)
  })
  return places
}

export function countByStatus(table: FleetTable, places: readonly number[]): StatusCounts {
  const counts = noCounts()
  for (const place of places) {
    const row = table.rows[place]
    if (row !== undefined) counts[row.status]++
  }
  return counts
}

export function noCounts(): Record<DeviceStatus, number> {
  // The entries have every status as a key.
  return Object.fromEntries(DEVICE_STATUSES.map((status) => [status, 0])) as Record<DeviceStatus, number>
}
