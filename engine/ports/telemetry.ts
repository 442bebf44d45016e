// The stored telemetry: points by (device, metric, timestamp), and the buckets that queries return (R11).
import type { Readable } from 'node:stream'
import type { DeviceId, Micros, Millis } from '../../schemas/ids.ts'
import type { Aggregate, ExportFormat } from '../../schemas/vocabulary.ts'
import type { FleetMoment } from '../domain/fleet/census.ts'
import type { Grid } from '../domain/telemetry/grid.ts'
import type { LateHour } from '../domain/telemetry/late-hours.ts'
import type { Bucket } from '../domain/telemetry/summary.ts'
import type { AuditTrail } from './audit.ts'
import type { History } from './history.ts'

/** One encoded block of rows. See `domain/telemetry/columns.ts`, `domain/history/columns.ts` (also for `audit`) and
 *  `domain/fleet/`. */
export interface Block {
  readonly kind: 'points' | 'texts' | 'history' | 'audit' | 'census' | 'devices'
  /** ClickHouse `Native` bytes. */
  readonly bytes: Uint8Array
  readonly rows: number
}

export interface TrendQuery {
  readonly from: Millis
  readonly to: Millis
  /** Buckets begin at multiples of this width. */
  readonly widthMs: number
  /** A device counts if each of these lists has a subtree that contains it. */
  readonly within: readonly (readonly string[])[]
}

/** Devices as listed in the table `devices`, which follows their records within seconds. */
export interface DeviceChoice {
  /** Only devices in this group's subtree. */
  readonly group: string | undefined
  /** A device counts if it is in one of these subtrees. Undefined means all. */
  readonly within: readonly string[] | undefined
}

export interface SeriesQuery {
  readonly deviceIds: readonly DeviceId[]
  /** ClickHouse chooses the devices itself, however many there are. `deviceIds` is then ignored. */
  readonly among?: DeviceChoice | undefined
  /** One series per device, or one over the points of all of them. */
  readonly by: 'device' | 'group'
  readonly metrics: readonly string[]
  readonly from: Millis
  readonly to: Millis
  /** Buckets begin on this grid; the first begins at or after `from`. */
  readonly grid: Grid
  readonly aggregates: readonly Aggregate[]
  /** Hours (counted since 1970, in seconds) whose rollups are known to be stale and which are read from raw points. */
  readonly lateHours: readonly number[]
}

export interface Series {
  /** Undefined for the series of all devices together. */
  readonly deviceId: DeviceId | undefined
  readonly metric: string
  /** Ascending, within [from, to). Empty buckets are left out. */
  readonly buckets: readonly Bucket[]
}

export interface PointsQuery {
  readonly deviceId: DeviceId
  readonly metric: string
  readonly from: Millis
  readonly to: Millis
  /** Only points after this one. */
  readonly after?: PointPlace | undefined
  readonly limit: number
}

/** The position of a point. At the same time a metric may have a number and a text, in this order. */
export interface PointPlace {
  readonly at: Micros
  readonly isText: boolean
}

export interface Point {
  readonly at: Micros
  readonly value: number | string
}

/** Columns: `device_id` (not for a group), `metric`, `time`, then `value` and `text` of points, or the aggregates of a
 *  series. */
export type Export =
  | {
      readonly kind: 'points'
      readonly query: Pick<SeriesQuery, 'deviceIds' | 'among' | 'metrics' | 'from' | 'to'>
      readonly format: ExportFormat
    }
  | { readonly kind: 'series'; readonly query: SeriesQuery; readonly format: ExportFormat }

export interface Telemetry extends History, AuditTrail {
  /** Resolves once the rows are stored and visible. Repeating the call with the same block changes no answer. A retryable
   *  `Fault` means "later", `TELEMETRY_REFUSED` means "never". */
  insert(block: Block): Promise<void>
  /** Ordered by device, then metric; empty series are left out. Rejects with `TELEMETRY_TOO_MUCH`, not to be retried, if
   *  too many points would have to be read. */
  series(query: SeriesQuery): Promise<readonly Series[]>
  /** Numbers and texts, ordered by time. */
  points(query: PointsQuery): Promise<readonly Point[]>
  /** Streams a file as ClickHouse produces it. Nothing is buffered for a slow reader, and destroying the stream ends the
   *  query. Resolves with the first bytes; if the stream fails, the file is incomplete. */
  export(what: Export): Promise<Readable>
  /** Device counts of the fleet, ascending. Buckets without counts are left out. */
  trend(query: TrendQuery): Promise<readonly FleetMoment[]>
  /** Everything before this instant is answered from rollups. */
  horizon(): Millis
  /** Recomputes rollups from raw points for every hour in [horizon, upTo) and for these late hours. Then moves the
   *  horizon. */
  settle(upTo: Millis, late: readonly LateHour[]): Promise<void>
  /** Recomputes the settled hours in [from, to), for points that were lost and restored. */
  resettle(from: Millis, to: Millis): Promise<void>
  /** Removes every point, rollup and history row of these devices. The audit stays. */
  forget(deviceIds: readonly DeviceId[]): Promise<void>
  /** Exact number of distinct points, by device if given: for tests, benches and repair. */
  countPoints(deviceId?: DeviceId): Promise<number>
  isUp(): boolean
  close(): Promise<void>
}
