// Telemetry at rest: points by (device, metric, timestamp), and the buckets asked back (R11).
import type { DeviceId, Micros, Millis } from '../../schemas/ids.ts'
import type { Interval } from '../../schemas/vocabulary.ts'
import type { AuditTrail } from './audit.ts'
import type { History } from './history.ts'

/** One encoded block of rows, see `domain/telemetry/columns.ts` and `domain/history/columns.ts` (also of `audit`). */
export interface Block {
  readonly kind: 'points' | 'texts' | 'history' | 'audit'
  /** ClickHouse `Native` bytes. */
  readonly bytes: Uint8Array
  readonly rows: number
  /** Distinct per content: the same token is only ever sent with the same bytes. */
  readonly token: string
}

export interface BucketQuery {
  readonly deviceId: DeviceId
  readonly metric: string
  readonly from: Millis
  readonly to: Millis
  readonly interval: Interval
  /** Hours (seconds since 1970) whose rollups are known to be stale: they are read from raw. */
  readonly lateHours: readonly number[]
}

export interface Bucket {
  readonly time: Millis
  readonly avg: number
  readonly min: number
  readonly max: number
  readonly count: number
  readonly last: number
}

export interface Telemetry extends History, AuditTrail {
  /** Resolves once the rows are stored and visible. May be called again with the same block: no answer changes.
   *  A retryable `Fault` says "later", `TELEMETRY_REFUSED` says "never". */
  insert(block: Block): Promise<void>
  /** Buckets aligned to UTC, in [from, to), ascending, empty ones left out. */
  buckets(query: BucketQuery): Promise<readonly Bucket[]>
  /** Everything before this instant is answered from rollups. */
  horizon(): Millis
  /** Recomputes rollups from raw: every hour in [horizon, upTo), and these late hours. Then moves the horizon. */
  settle(upTo: Millis, late: readonly { readonly deviceId: DeviceId; readonly hour: number }[]): Promise<void>
  /** Exact number of distinct points, by device if given: for tests, benches and repair. */
  countPoints(deviceId?: DeviceId): Promise<number>
  /** The newest receive time stored for a device; undefined if none. */
  newest(deviceId: DeviceId): Promise<Micros | undefined>
  isUp(): boolean
  close(): Promise<void>
}
