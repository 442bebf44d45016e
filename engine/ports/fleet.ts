// The table of the whole fleet, which each node builds when it is asked for it.
import type { DeviceId } from '../../schemas/ids.ts'
import type { LatestValues } from '../domain/fleet/latest-values.ts'
import type { FleetTable } from '../domain/fleet/table.ts'

export type * from '../domain/fleet/latest-values.ts'
export type * from '../domain/fleet/table.ts'

export interface LatestQuery {
  /** Undefined means every device that was heard at or after `heardAfter`, in milliseconds. */
  readonly deviceIds: readonly DeviceId[] | undefined
  readonly metrics: readonly string[]
  readonly heardAfter: number
}

export interface FleetPort {
  /** The table, at most a second old. Later calls change the same object, but not before the caller's next await. */
  table(): Promise<FleetTable>
  /** Keeps the table up to date and calls the listener after each query to the shards, several times a second. Returns a
   *  function that stops it. Nothing runs while nobody watches. */
  watch(listener: (table: FleetTable) => void): () => void
  /** The version that the table had `ageMs` ago, or its first version if the table is younger. */
  versionBefore(ageMs: number): number
  /** Leaves out devices that do not exist. For named devices the answer sees every message acknowledged before the
   *  call. */
  latest(query: LatestQuery): Promise<readonly LatestValues[]>
  /** The number of deployments that have begun and are not over. */
  deploymentsActive(): number
}
