// A row of the fleet's table is one device. Shards send their rows as columns, because a few long arrays cost a thread or
// a node much less than many small objects.
import type { DeviceId, Millis } from '../../../schemas/ids.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'

/** The facts about a device that rarely change. */
export interface FleetFacts {
  readonly name: string
  readonly type: string
  readonly group: string | undefined
  readonly tags: readonly string[]
  readonly parentId: DeviceId | undefined
  readonly firmware: string | undefined
}

/** Counts of a device. They are shown only as sums over the whole fleet. */
export interface FleetLoad {
  readonly info: number
  readonly warning: number
  readonly critical: number
  readonly openCommands: number
  /** The times at which commands failed within the last hour, in milliseconds. */
  readonly failedAt: readonly number[]
}

/** A row is replaced as a whole when something changes. */
export interface FleetRow extends FleetFacts {
  readonly status: DeviceStatus
  readonly flags: number
  /** The time of the last change of status. */
  readonly since: Millis
  /** Undefined if nothing is to be counted. */
  readonly load: FleetLoad | undefined
}

type Columns<Row> = { readonly [Name in keyof Row]-?: Row[Name][] }

/** `rev` grows with each change of a row. `seenAt` is 0 if the device was never heard. */
export type FleetRows = Columns<
  FleetRow & { readonly id: DeviceId; readonly rev: number; readonly seenAt: number }
>

/** Devices that were heard again and have not changed otherwise. */
export interface FleetSightings {
  readonly id: DeviceId[]
  readonly rev: number[]
  readonly seenAt: number[]
}

/** One shard's changes since the version of its table that the asker knows. */
export interface FleetPart {
  /** The shard's incarnation. Versions of different incarnations cannot be compared. */
  readonly source: string
  readonly version: number
  readonly rows: FleetRows
  readonly sightings: FleetSightings
  /** Devices that no longer exist. A device that is also in `rows` has been registered again since. */
  readonly gone: readonly DeviceId[]
  /** True if `rows` holds every device of the shard, and not only changes. */
  readonly isWhole: boolean
  /** Counted since the incarnation began. */
  readonly messages: number
  readonly points: number
  /** How far the shard is behind its log. */
  readonly lagMs: number
}

/** The version that the asker has of each source's table. */
export type FleetVersions = Readonly<Record<string, number>>

export function newRows(): FleetRows {
  return {
    id: [],
    rev: [],
    seenAt: [],
    name: [],
    type: [],
    group: [],
    tags: [],
    parentId: [],
    firmware: [],
    status: [],
    flags: [],
    since: [],
    load: [],
  }
}

export function newSightings(): FleetSightings {
  return { id: [], rev: [], seenAt: [] }
}
