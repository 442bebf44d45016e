// The table of the whole fleet, kept by the node that is asked for it.
import type { FleetTable } from '../domain/fleet/table.ts'

export type * from '../domain/fleet/table.ts'

export interface FleetPort {
  /** The table as it was at most a second ago. It changes in place with later calls, but never before the caller awaits
   *  something. */
  table(): Promise<FleetTable>
  /** Keeps the table up and calls the listener after each look at the shards, several times a second. Returns what stops
   *  it. Nothing runs while nobody watches. */
  watch(listener: (table: FleetTable) => void): () => void
}
