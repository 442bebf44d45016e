// Rows that ClickHouse has lost, made again from the log.
import type { Millis } from '../../schemas/ids.ts'

export interface Repair {
  readonly id: string
  readonly status: 'running' | 'done' | 'failed'
  /** Messages received from `from` to `to` are repaired, and some within a minute before or after. */
  readonly from: Millis
  readonly to: Millis
  readonly startedAt: Millis
  /** Moves while the repair runs. If it stands still, the repair's process is gone. */
  readonly updatedAt: Millis
  /** Receive time of the oldest message in the log; undefined until it is known. Earlier messages cannot be repaired. */
  readonly logFrom: Millis | undefined
  readonly messages: number
  /** Rows inserted, missing or not. */
  readonly rows: number
  /** 0 to 1. */
  readonly progress: number
  /** Hours whose rollups were computed again. */
  readonly rollups: { readonly from: Millis; readonly to: Millis } | undefined
  /** Why it failed. */
  readonly detail: string | undefined
}

export interface Repairs {
  /** Begins one, beside the traffic; an earlier one ends, wherever it runs. `from` is the log's beginning if left out,
   *  `to` is now. */
  start(span: { readonly from?: Millis | undefined; readonly to?: Millis | undefined }): Promise<Repair>
  /** The latest one, of all processes. */
  latest(): Repair | undefined
  /** Before the engine is. */
  close(): Promise<void>
}
