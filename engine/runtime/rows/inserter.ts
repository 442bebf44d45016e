// Rows on their way to ClickHouse: one insert at a time, in order, tried until stored.
//
// - Blocks of one shard are inserted in the order they were cut, so "the last one is stored" means all are.
// - A block that ClickHouse refuses for good is dropped with a fault, never retried for ever; it stays in the
//   log for the retention time.
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Block, Telemetry } from '../../ports/telemetry.ts'
import type { InsertSignal } from '../signals.ts'

export class Inserter {
  readonly #telemetry: Pick<Telemetry, 'insert'>
  readonly #schedule: Schedule
  readonly #ticks: () => number
  readonly #signal: (signal: InsertSignal) => void
  #tail: Promise<void> = Promise.resolve()
  #waiting = 0
  #rowsWaiting = 0
  #isClosed = false

  constructor(options: {
    telemetry: Pick<Telemetry, 'insert'>
    schedule: Schedule
    ticks: () => number
    signal: (signal: InsertSignal) => void
  }) {
    this.#telemetry = options.telemetry
    this.#schedule = options.schedule
    this.#ticks = options.ticks
    this.#signal = options.signal
  }

  /** Resolves once these blocks, and all before them, are stored; `false` if it was closed before. */
  insert(blocks: readonly Block[]): Promise<boolean> {
    for (const block of blocks) {
      this.#waiting++
      this.#rowsWaiting += block.rows
      const over = () => {
        this.#waiting--
        this.#rowsWaiting -= block.rows
      }
      this.#tail = this.#tail.then(() => this.#insertOne(block)).finally(over)
    }
    return this.#tail.then(() => !this.#isClosed)
  }

  isFull(): boolean {
    return this.#waiting >= LIMITS.blocksWaitingMax
  }

  get waiting(): number {
    return this.#waiting
  }

  get rowsWaiting(): number {
    return this.#rowsWaiting
  }

  /** Gives up what is not stored yet: the log still has it. */
  close(): void {
    this.#isClosed = true
  }

  async #insertOne(block: Block): Promise<void> {
    for (let attempt = 0; !this.#isClosed; attempt++) {
      const startedAt = this.#ticks()
      try {
        await this.#telemetry.insert(block)
        this.#signal({ kind: 'inserted', block, seconds: (this.#ticks() - startedAt) / 1000 })
        return
      } catch (error) {
        const fault =
          error instanceof Fault
            ? error
            : new Fault('TELEMETRY_UNAVAILABLE', { retryable: true, cause: error })
        if (!fault.retryable) {
          this.#signal({ kind: 'insert_refused', block, fault })
          return
        }
        this.#signal({ kind: 'insert_failed', block, fault })
        await this.#schedule.sleep(
          Math.min(LIMITS.insertRetryMs * 2 ** Math.min(attempt, 5), LIMITS.insertRetryMsMax),
        )
      }
    }
  }
}
