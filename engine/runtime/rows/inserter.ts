// Rows on their way to ClickHouse: one insert at a time, in order, retried until stored.
//
// - Blocks of one shard are inserted in the order in which they were cut, so once the last one is stored, all are.
// - What ClickHouse refuses for good is not retried for ever. Of a block of telemetry, only the refused messages are left
//   out, and become dead letters (`refused-block.ts`).
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { DeadLetter } from '../../ports/store.ts'
import type { Block, Telemetry } from '../../ports/telemetry.ts'
import { retryUntilDone } from '../retry-until-done.ts'
import type { InsertSignal } from '../signals.ts'
import { separate } from './refused-block.ts'

export class Inserter {
  readonly #telemetry: Pick<Telemetry, 'insert'>
  readonly #schedule: Schedule
  readonly #ticks: () => number
  readonly #signal: (signal: InsertSignal) => void
  readonly #park: (letters: readonly DeadLetter[]) => Promise<void>
  #tail: Promise<void> = Promise.resolve()
  #waiting = 0
  #rowsWaiting = 0
  #isClosed = false

  constructor(options: {
    telemetry: Pick<Telemetry, 'insert'>
    schedule: Schedule
    ticks: () => number
    signal: (signal: InsertSignal) => void
    /** Keeps refused messages as dead letters. Called again until it resolves. */
    park: (letters: readonly DeadLetter[]) => Promise<void>
  }) {
    this.#telemetry = options.telemetry
    this.#schedule = options.schedule
    this.#ticks = options.ticks
    this.#signal = options.signal
    this.#park = options.park
  }

  /** Resolves once these blocks and all earlier ones are stored, or with false if the inserter was closed before. */
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

  /** Gives up what is not stored yet. The log still has it. */
  close(): void {
    this.#isClosed = true
  }

  async #insertOne(block: Block): Promise<void> {
    const fault = await this.#try(block)
    if (fault === undefined) return
    const { letters, givenUp } = await separate(block, fault, (part) => this.#try(part))
    // Blocks that were not tried any more are neither stored nor refused.
    if (this.#isClosed) return
    for (const { block: part, fault: why } of givenUp)
      this.#signal({ kind: 'insert_refused', block: part, fault: why })
    if (letters.length === 0) return
    await retryUntilDone(
      () => this.#park(letters),
      () => this.#isClosed,
      { schedule: this.#schedule, failed: (error) => this.#signal({ kind: 'parking_failed', block, error }) },
    )
    this.#signal({ kind: 'messages_refused', block, messages: letters.length, fault })
  }

  /** Resolves with the fault if the block is refused. Undefined once it is stored, or given up because of `close`. */
  async #try(block: Block): Promise<Fault | undefined> {
    for (let attempt = 0; !this.#isClosed; attempt++) {
      const startedAt = this.#ticks()
      try {
        await this.#telemetry.insert(block)
        this.#signal({ kind: 'inserted', block, seconds: (this.#ticks() - startedAt) / 1000 })
        return undefined
      } catch (error) {
        const fault =
          error instanceof Fault
            ? error
            : new Fault('TELEMETRY_UNAVAILABLE', { retryable: true, cause: error })
        if (!fault.retryable) return fault
        this.#signal({ kind: 'insert_failed', block, fault })
        await this.#schedule.sleep(
          Math.min(LIMITS.insertRetryMs * 2 ** Math.min(attempt, 5), LIMITS.insertRetryMsMax),
        )
      }
    }
    return undefined
  }
}
