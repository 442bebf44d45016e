// Telemetry at rest: points by (device, metric, timestamp), and the buckets asked back (R11).
import type { Readable } from 'node:stream'
import type { DeviceId, Micros, Millis } from '../../schemas/ids.ts'
import type { Aggregate, ExportFormat } from '../../schemas/vocabulary.ts'
import type { FleetMoment } from '../domain/fleet/census.ts'
import type { Grid } from '../domain/telemetry/grid.ts'
import type { LateHour } from '../domain/telemetry/late-hours.ts'
import type { Bucket } from '../domain/telemetry/summary.ts'
import type { AuditTrail } from './audit.ts'
import type { History } from './history.ts'

/** One encoded block of rows, see `domain/telemetry/columns.ts`, `domain/history/columns.ts` (also of `audit`) and
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
  /** Buckets begin at multiples of it. */
  readonly widthMs: number
  /** A device counts if it is in one of the subtrees of each list. */
  readonly within: readonly (readonly string[])[]
}

/** Devices as the table `devices` has them, which follows the records within seconds. */
export interface DeviceChoice {
  /** The subtree in which they are. */
  readonly group: string | undefined
  /** A device counts if it is in one of these subtrees. Undefined means all. */
  readonly within: readonly string[] | undefined
}

export interface SeriesQuery {
  readonly deviceIds: readonly DeviceId[]
  /** Chosen by ClickHouse itself, however many they are. `deviceIds` says nothing then. */
  readonly among?: DeviceChoice | undefined
  /** Each device by itself, or the points of all of them together. */
  readonly by: 'device' | 'group'
  readonly metrics: readonly string[]
  readonly from: Millis
  readonly to: Millis
  /** Buckets begin on this grid, the first at or after `from`. */
  readonly grid: Grid
  readonly aggregates: readonly Aggregate[]
  /** Hours (seconds since 1970) whose rollups are known to be stale: they are read from raw. */
  readonly lateHours: readonly number[]
}

export interface Series {
  /** Undefined for the series of all devices together. */
  readonly deviceId: DeviceId | undefined
  readonly metric: string
  /** Ascending, within [from, to), without empty ones. */
  readonly buckets: readonly Bucket[]
}

export interface PointsQuery {
  readonly deviceId: DeviceId
  readonly metric: string
  readonly from: Millis
  readonly to: Millis
  /** Only what comes later. */
  readonly after?: PointPlace | undefined
  readonly limit: number
}

/** A metric may have a number and a text at one time; the number is first. */
export interface PointPlace {
  readonly at: Micros
  readonly isText: boolean
}

export interface Point {
  readonly at: Micros
  readonly value: number | string
}

/** Columns: `device_id` (but of a group), `metric`, `time`; of points `value` and `text`, else the aggregates. */
export type Export =
  | {
      readonly kind: 'points'
      readonly query: Pick<SeriesQuery, 'deviceIds' | 'among' | 'metrics' | 'from' | 'to'>
      readonly format: ExportFormat
    }
  | { readonly kind: 'series'; readonly query: SeriesQuery; readonly format: ExportFormat }

export interface Telemetry extends History, AuditTrail {
  /** Resolves once the rows are stored and visible. May be called again with the same block: no answer changes.
   *  A retryable `Fault` says "later", `TELEMETRY_REFUSED` says "never". */
  insert(block: Block): Promise<void>
  /** Ordered by device, then metric, without empty series. Rejects with `TELEMETRY_TOO_MUCH`, not to be retried, if too
   *  many points would have to be read. */
  series(query: SeriesQuery): Promise<readonly Series[]>
  /** Numbers and texts, ordered by time. */
  points(query: PointsQuery): Promise<readonly Point[]>
  /** A file as it comes: nothing of it is held for a slow reader, and destroying the stream ends the query. Resolves
   *  with the first bytes; a stream that fails is a file that is not whole. */
  export(what: Export): Promise<Readable>
  /** Counts of the fleet, ascending; a bucket without any is left out. */
  trend(query: TrendQuery): Promise<readonly FleetMoment[]>
  /** Everything before this instant is answered from rollups. */
  horizon(): Millis
  /** Recomputes rollups from raw: every hour in [horizon, upTo), and these late hours. Then moves the horizon. */
  settle(upTo: Millis, late: readonly LateHour[]): Promise<void>
  /** Computes the settled hours in [from, to) again: for points that were lost and came back. */
  resettle(from: Millis, to: Millis): Promise<void>
  /** Removes every point, rollup and row of the history of these devices. The audit stays. */
  forget(deviceIds: readonly DeviceId[]): Promise<void>
  /** Exact number of distinct points, by device if given: for tests, benches and repair. */
  countPoints(deviceId?: DeviceId): Promise<number>
  isUp(): boolean
  close(): Promise<void>
}
