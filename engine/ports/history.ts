// The history at rest: what happened to a device, newest first.
import type { DeviceId, Millis } from '../../schemas/ids.ts'
import type { HistoryKey, HistoryKind, HistoryRow } from '../domain/history/row.ts'

export type {
  HistoryKey,
  HistoryKind,
  HistoryRow,
  WrittenHistory,
  WrittenRow,
} from '../domain/history/row.ts'

/** A row's place among the device's rows: they are ordered by time, then version, then kind. */
export type HistoryPlace = Pick<HistoryKey, 'at' | 'version'> & {
  /** Left out: older than every row of this time and version. */
  readonly kind?: HistoryKind | undefined
}

export interface HistoryFilter {
  readonly deviceId: DeviceId
  readonly kinds: readonly HistoryKind[]
  /** [from, to). */
  readonly from?: Millis | undefined
  readonly to?: Millis | undefined
  /** Only rows with one of these labels: the level of a log, the section of a shadow's change. */
  readonly labels?: readonly string[] | undefined
}

export interface HistoryQuery extends HistoryFilter {
  /** Only what is older than this: the last row of the page before. */
  readonly before?: HistoryPlace | undefined
  readonly limit: number
  /** Rows to skip; far slower than `before` when there are many. */
  readonly offset?: number | undefined
}

export interface History {
  /** Newest first, each row once however often it was inserted. */
  history(query: HistoryQuery): Promise<readonly HistoryRow[]>
  countHistory(filter: HistoryFilter): Promise<number>
}
