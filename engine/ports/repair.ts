// Restoring rows that ClickHouse has lost, from the log.
import type { Millis } from '../../schemas/ids.ts'

export interface Repair {
  readonly id: string
  readonly status: 'running' | 'done' | 'failed'
  /** Repairs messages received from `from` to `to`, and some up to a minute earlier or later. */
  readonly from: Millis
  readonly to: Millis
  readonly startedAt: Millis
  /** Advances while the repair runs. If it stops advancing, the process of the repair is gone. */
  readonly updatedAt: Millis
  /** Receive time of the oldest message in the log; undefined until it is known. Earlier messages cannot be repaired. */
  readonly logFrom: Millis | undefined
  readonly messages: number
  /** Rows inserted, whether they were missing or not. */
  readonly rows: number
  /** 0 to 1. */
  readonly progress: number
  /** Hours whose rollups were computed again. */
  readonly rollups: { readonly from: Millis; readonly to: Millis } | undefined
  /** Why it failed. */
  readonly detail: string | undefined
}

export interface Repairs {
  /** Starts a repair alongside normal traffic and ends an earlier one, wherever it runs. `from` defaults to the beginning
   *  of the log, `to` to now. */
  start(span: { readonly from?: Millis | undefined; readonly to?: Millis | undefined }): Promise<Repair>
  /** The latest repair of any process. */
  latest(): Repair | undefined
  /** Must be called before the engine is closed. */
  close(): Promise<void>
}
