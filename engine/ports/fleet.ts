// The table of the whole fleet, kept by the node that is asked for it.
import type { DeviceId } from '../../schemas/ids.ts'
import type { LatestValues } from '../domain/fleet/latest-values.ts'
import type { FleetTable } from '../domain/fleet/table.ts'

export type * from '../domain/fleet/latest-values.ts'
export type * from '../domain/fleet/table.ts'

export interface LatestQuery {
  /** Undefined means every device that was heard at this time, in milliseconds, or later. */
  readonly deviceIds: readonly DeviceId[] | undefined
  readonly metrics: readonly string[]
  readonly heardAfter: number
}

export interface FleetPort {
  /** The table as it was at most a second ago. It changes in place with later calls, but never before the caller awaits
   *  something. */
  table(): Promise<FleetTable>
  /** Keeps the table up and calls the listener after each look at the shards, several times a second. Returns what stops
   *  it. Nothing runs while nobody watches. */
  watch(listener: (table: FleetTable) => void): () => void
  /** The version that the table had about this long ago, or its first one if it is younger. */
  versionBefore(ageMs: number): number
  /** Devices that do not exist are left out. For named devices the answer sees every message acknowledged before. */
  latest(query: LatestQuery): Promise<readonly LatestValues[]>
  /** Deployments that are not over and have begun. */
  deploymentsActive(): number
}
