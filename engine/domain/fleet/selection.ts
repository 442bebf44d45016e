// The rows of the fleet's table that a question is about, and how many there are of each status.
import { DEVICE_STATUSES, type DeviceStatus } from '../../../schemas/vocabulary.ts'
import { isInScope } from '../group-scope.ts'
import type { FleetPlacing, FleetTable } from './table.ts'

export interface FleetQuestion {
  /** The group and those below it. */
  readonly group?: string | undefined
  readonly type?: string | undefined
  readonly tag?: string | undefined
  /** The subtrees that the asker may see. Undefined means all. */
  readonly within?: readonly string[] | undefined
}

export type StatusCounts = Readonly<Record<DeviceStatus, number>>

/** A judge of single rows. It remembers its verdict on each group, since there are far fewer of them than devices. */
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

/** The same text for questions with the same answer. */
export function questionKey({ group, type, tag, within }: FleetQuestion): string {
  return JSON.stringify([
    group ?? null,
    type ?? null,
    tag ?? null,
    within === undefined ? null : [...new Set(within)].sort(),
  ])
}

/** The places of the rows in question. */
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
  // It has every status as a key.
  return Object.fromEntries(DEVICE_STATUSES.map((status) => [status, 0])) as Record<DeviceStatus, number>
}
