// One device of the fleet's table, and how its rows travel from the shards that make them: as columns, because many
// small arrays cost a thread or a node much more than a few long ones.
import type { DeviceId, Millis } from '../../../schemas/ids.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'

/** The facts of a device that seldom change. */
export interface FleetFacts {
  readonly name: string
  readonly type: string
  readonly group: string | undefined
  readonly tags: readonly string[]
  readonly parentId: DeviceId | undefined
  readonly firmware: string | undefined
}

/** What is counted of a device and shown of the whole fleet only. */
export interface FleetLoad {
  readonly info: number
  readonly warning: number
  readonly critical: number
  readonly openCommands: number
  /** When commands of the last hour failed, in milliseconds. */
  readonly failedAt: readonly number[]
}

/** Replaced as a whole on change. */
export interface FleetRow extends FleetFacts {
  readonly status: DeviceStatus
  readonly flags: number
  /** When the status last moved. */
  readonly since: Millis
  /** Undefined if nothing is to be counted. */
  readonly load: FleetLoad | undefined
}

type Columns<Row> = { readonly [Name in keyof Row]-?: Row[Name][] }

/** `rev` grows with each change of a row; `seenAt` is 0 for never. */
export type FleetRows = Columns<
  FleetRow & { readonly id: DeviceId; readonly rev: number; readonly seenAt: number }
>

/** Rows of which nothing has changed but when they were last heard. */
export interface FleetSightings {
  readonly id: DeviceId[]
  readonly rev: number[]
  readonly seenAt: number[]
}

/** What one shard has to say to somebody who knows its table as of some version. */
export interface FleetPart {
  /** The shard's incarnation: versions of two of them cannot be compared. */
  readonly source: string
  readonly version: number
  readonly rows: FleetRows
  readonly sightings: FleetSightings
  /** Devices that are not there any more. One that is in `rows`, too, was registered anew since. */
  readonly gone: readonly DeviceId[]
  /** Whether `rows` are all that there are. */
  readonly isWhole: boolean
  /** Since the incarnation began. */
  readonly messages: number
  readonly points: number
  /** How far it is behind its log. */
  readonly lagMs: number
}

/** The version of the table that an asker has of each source. */
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
