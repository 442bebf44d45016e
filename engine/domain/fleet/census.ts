// Counts the fleet at one moment by group and status, and encodes the counts for ClickHouse.
import { type DeviceId, Micros, type Millis } from '../../../schemas/ids.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'
import { HistoryColumns } from '../history/columns.ts'
import type { EncodedBlock } from '../telemetry/columns.ts'
import { noCounts, type StatusCounts } from './selection.ts'

export interface CensusRow {
  /** Empty for devices without a group. */
  readonly group: string
  readonly status: DeviceStatus
  readonly devices: number
}

/** The counts of one bucket, which are those of the last census in it. */
export interface FleetMoment {
  /** The start of the bucket. */
  readonly at: Millis
  readonly counts: StatusCounts
}

export class Census {
  readonly #counts = new Map<string, Record<DeviceStatus, number>>()

  add(group: string | undefined, status: DeviceStatus): void {
    const known = this.#counts.get(group ?? '')
    const counts = known ?? noCounts()
    if (known === undefined) this.#counts.set(group ?? '', counts)
    counts[status]++
  }

  /** Returns rows for at most `groupsMax` groups. If there are more, the deepest ones are counted with their parents, and of
   *  too many top-level groups the last ones with the devices that have none: every device counts. */
  rows(groupsMax: number): readonly CensusRow[] {
    let counts: ReadonlyMap<string, Record<DeviceStatus, number>> = this.#counts
    while (counts.size > groupsMax) {
      let depth = 0
      // They may be too many for the arguments of one call.
      for (const group of counts.keys()) depth = Math.max(depth, depthOf(group))
      counts = depth > 1 ? mergeIntoParents(counts, depth - 1) : mergeLast(counts, groupsMax)
    }
    return [...counts].flatMap(([group, byStatus]) =>
      Object.entries(byStatus).flatMap(([status, devices]) =>
        // The keys of the counts are statuses.
        devices === 0 ? [] : { group, status: status as DeviceStatus, devices },
      ),
    )
  }
}

/** The block has the columns of the history: `deviceId` holds the group, `kind` the status, and `version` the count. */
export function encodeCensus(rows: readonly CensusRow[], at: Millis): EncodedBlock | undefined {
  const columns = new HistoryColumns()
  const micros = Micros(at * 1_000)
  for (const { group, status, devices } of rows) {
    // The columns hold any text, though their types are those of the history.
    const row = {
      deviceId: group as DeviceId,
      kind: status as never,
      at: micros,
      version: devices,
      body: '{}',
    }
    columns.add(row, micros)
  }
  return columns.take()
}

type GroupCounts = ReadonlyMap<string, Readonly<Record<DeviceStatus, number>>>

function mergeIntoParents(counts: GroupCounts, depth: number): Map<string, Record<DeviceStatus, number>> {
  return merge(counts, (group) => group.split('/', depth).join('/'))
}

function mergeLast(counts: GroupCounts, groupsMax: number): Map<string, Record<DeviceStatus, number>> {
  const names = [...counts.keys()].filter((group) => group !== '').sort()
  const kept = new Set(names.slice(0, groupsMax - 1))
  return merge(counts, (group) => (kept.has(group) ? group : ''))
}

function merge(
  counts: GroupCounts,
  toGroup: (group: string) => string,
): Map<string, Record<DeviceStatus, number>> {
  const fewer = new Map<string, Record<DeviceStatus, number>>()
  for (const [group, byStatus] of counts) {
    const name = toGroup(group)
    const sum = fewer.get(name) ?? noCounts()
    // The keys of the counts are statuses.
    for (const status of Object.keys(sum) as DeviceStatus[]) sum[status] += byStatus[status]
    fewer.set(name, sum)
  }
  return fewer
}

function depthOf(group: string): number {
  return group.split('/').length
}
