// Moves history from the store's outbox into ClickHouse: in batches, in order, retried until stored.
//
// - The outbox is the only memory of rows on their way, so rows of an earlier incarnation need no special care.
// W2. A batch is cleared after its rows are stored. A crash between the two is harmless: a row that is inserted again is
//     the same row.
// W3. Rows that ClickHouse refuses for good are given up with a fault. No log has them, so a refused block is halved until
//     it is a single save, and only that is given up. If much is refused, the rows are not to blame, and it ends sooner.
import { HistoryColumns } from '../../domain/history/columns.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Outbox, OutboxBatch } from '../../ports/store.ts'
import type { Block, Telemetry } from '../../ports/telemetry.ts'
import { Latch } from '../latch.ts'
import type { HistorySignal } from '../signals.ts'
import { Inserter } from './inserter.ts'

/** How many refused saves are looked for one by one in a round. */
const REFUSED_MAX = 16
const BOUNDS = { rowsMax: LIMITS.historyBatchRowsMax, bytesMax: LIMITS.historyBlockBytesMax }

export class HistoryWriter {
  readonly #outbox: Outbox
  readonly #schedule: Schedule
  readonly #ticks: () => number
  readonly #signal: (signal: HistorySignal) => void
  readonly #fatal: (fault: Fault) => void
  readonly #inserter: Inserter
  readonly #history = new HistoryColumns()
  readonly #audit = new HistoryColumns()
  readonly #latch = new Latch()
  /** The refused blocks of the insert in flight. */
  #refused: HistorySignal[] = []
  #isClosing = false
  #isClosed = false
  #running: Promise<void> = Promise.resolve()

  constructor(options: {
    readonly outbox: Outbox
    readonly telemetry: Telemetry
    readonly schedule: Schedule
    readonly ticks: () => number
    readonly signal: (signal: HistorySignal) => void
    /** Called when the store will never hand out or clear rows in this process again. */
    readonly fatal: (fault: Fault) => void
  }) {
    const { outbox, telemetry, schedule, ticks, signal, fatal } = options
    this.#outbox = outbox
    this.#schedule = schedule
    this.#ticks = ticks
    this.#signal = signal
    this.#fatal = fatal
    this.#inserter = new Inserter({
      telemetry,
      schedule,
      ticks,
      signal: (about) => {
        if (about.kind === 'insert_refused') this.#refused.push(about)
        else signal(about)
      },
      // These rows contain no messages.
      park: async () => {},
    })
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Called when there are rows in the outbox. */
  poke(): void {
    this.#latch.set()
  }

  /** Stores what it can within `deadlineMs`. The rest stays in the outbox for the next incarnation. */
  async close(deadlineMs: number): Promise<void> {
    const until = this.#ticks() + deadlineMs
    this.#isClosing = true
    this.#latch.set()
    await Promise.race([this.#running, this.#schedule.sleep(Math.max(0, until - this.#ticks()))])
    this.#isClosed = true
    this.#inserter.close()
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const written = await this.#write()
      if (written === 'failed') await this.#schedule.sleep(LIMITS.historyRetryMs)
      if (written === 'failed' || written === 'much') continue
      if (written === 'nothing') {
        if (this.#isClosing) return
        await this.#latch.wait()
      }
      // Waits for more rows, so that one insert takes them all. An insert costs ClickHouse far more than a row does.
      if (!this.#isClosing) await this.#schedule.sleep(LIMITS.historyDelayMs)
    }
  }

  /** Returns `much` if the batch was about as large as one may be, so that more rows probably wait. */
  async #write(): Promise<'nothing' | 'little' | 'much' | 'failed'> {
    try {
      const batches = await this.#outbox.outbox(BOUNDS)
      if (batches.length === 0) return 'nothing'
      const blocks = this.#encode(batches)
      const isMuch = blocks.some(
        ({ rows, bytes }) => rows >= BOUNDS.rowsMax / 2 || bytes.length >= BOUNDS.bytesMax / 2,
      )
      if (await this.#insert(batches, blocks, { left: REFUSED_MAX }))
        await this.#outbox.clearHistory(batches.map(({ key }) => key))
      return isMuch ? 'much' : 'little'
    } catch (error) {
      // Rows that were inserted but not cleared are inserted again (W2).
      if (!this.#isClosed) this.#failed(toFault(error))
      return 'failed'
    }
  }

  /** Resolves once everything is stored or refused for good (W3), or with false if the inserter was closed before. */
  async #insert(
    batches: readonly OutboxBatch[],
    blocks: readonly Block[],
    budget: { left: number },
  ): Promise<boolean> {
    const isDone = await this.#inserter.insert(blocks)
    const refused = this.#refused
    this.#refused = []
    if (!isDone || refused.length === 0) return isDone
    if (batches.length === 1 || budget.left <= 0) {
      budget.left--
      for (const about of refused) this.#signal(about)
      return true
    }
    const half = Math.ceil(batches.length / 2)
    for (const part of [batches.slice(0, half), batches.slice(half)])
      if (!(await this.#insert(part, this.#encode(part), budget))) return false
    return true
  }

  #failed(fault: Fault): void {
    if (fault.retryable) this.#signal({ kind: 'outbox_failed', fault })
    else this.#fatal(fault)
  }

  /** One block of each kind, or more if a single save is too large for one block. */
  #encode(batches: readonly OutboxBatch[]): readonly Block[] {
    const blocks: Block[] = []
    for (const { rows } of batches)
      for (const row of rows) {
        // The service itself set the times of these rows, so these are also their receive times.
        const kind = row.kind === 'audit' ? 'audit' : 'history'
        const columns = this.#columnsOf(kind)
        columns.add(row, row.at)
        if (columns.bytes >= LIMITS.historyBlockBytesMax) this.#cut(kind, blocks)
      }
    this.#cut('history', blocks)
    this.#cut('audit', blocks)
    return blocks
  }

  #columnsOf(kind: 'history' | 'audit'): HistoryColumns {
    return kind === 'audit' ? this.#audit : this.#history
  }

  #cut(kind: 'history' | 'audit', blocks: Block[]): void {
    const taken = this.#columnsOf(kind).take()
    if (taken !== undefined) blocks.push({ kind, ...taken })
  }
}

function toFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault('STORE_UNAVAILABLE', { retryable: true, cause: error })
}
