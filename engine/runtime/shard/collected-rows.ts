// The rows that a shard has collected but not handed out yet, and the blocks that are cut from them.
import { Millis } from '../../../schemas/ids.ts'
import { HistoryColumns, type HistorySavepoint } from '../../domain/history/columns.ts'
import { Columns, type ColumnsSavepoint } from '../../domain/telemetry/columns.ts'
import { LIMITS } from '../../limits.ts'
import type { Block } from '../../ports/telemetry.ts'

/** The rows before an item, to go back to if the item fails. */
export interface Savepoint {
  readonly columns: ColumnsSavepoint
  readonly history: HistorySavepoint
}

export class CollectedRows {
  readonly columns = new Columns()
  /** Rows from devices' own messages only. A replay collects them again, as it does telemetry. */
  readonly history = new HistoryColumns()
  #since = Millis(0)

  get count(): number {
    return this.columns.rows + this.history.rows
  }

  /** Time at which the first row since the last cut was collected, or 0 while there is none. */
  get since(): Millis {
    return this.#since
  }

  /** Starts the age of the rows once their batch is collected. */
  age(now: Millis): void {
    if (this.#since === 0 && this.count > 0) this.#since = now
  }

  isDue(now: Millis): boolean {
    return (
      this.columns.points >= LIMITS.blockRowsMax ||
      this.history.bytes >= LIMITS.historyBlockBytesMax ||
      (this.count > 0 && now - this.#since >= LIMITS.blockAgeMsMax)
    )
  }

  savepoint(): Savepoint {
    return { columns: this.columns.savepoint(), history: this.history.savepoint() }
  }

  /** Forgets the rows collected after the savepoint. */
  truncate({ columns, history }: Savepoint): void {
    this.columns.truncate(columns)
    this.history.truncate(history)
  }

  cut(): readonly Block[] {
    this.#since = Millis(0)
    const { points, texts } = this.columns.take()
    const history = this.history.take()
    const blocks: Block[] = []
    if (points !== undefined) blocks.push({ kind: 'points', ...points })
    if (texts !== undefined) blocks.push({ kind: 'texts', ...texts })
    if (history !== undefined) blocks.push({ kind: 'history', ...history })
    return blocks
  }
}
