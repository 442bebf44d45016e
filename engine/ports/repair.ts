// Rows that ClickHouse has lost, made again from the log.
import type { Millis } from '../../schemas/ids.ts'

export interface Repair {
  readonly id: string
  readonly status: 'running' | 'done' | 'failed'
  /** Of messages received in this span, or up to a minute beside it. */
  readonly from: Millis
  readonly to: Millis
  readonly startedAt: Millis
  /** While it runs it moves; long ago, its process is gone. */
  readonly updatedAt: Millis
  /** The oldest message that the log has; undefined until it is known. What was received before stays lost. */
  readonly logFrom: Millis | undefined
  readonly messages: number
  /** Inserted, whether they were missing or not. */
  readonly rows: number
  /** From 0 to 1. */
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
