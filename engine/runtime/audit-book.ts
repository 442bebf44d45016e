// The audit of the service: entries go into the store's outbox, from where the history's writer takes them on.
//
// B1. `record` resolves once its entries would survive a crash. Entries that wait while a save is under way are one
//     save together.
// B2. Refusals, which anyone can cause, are counted (`domain/audit/tally.ts`). Their entries may be lost if a save fails.
import { Millis } from '../../schemas/ids.ts'
import { type AuditEntry, auditRow } from '../domain/audit/entry.ts'
import { numberOfWriter } from '../domain/audit/number.ts'
import { type RefusalCount, RefusalTally } from '../domain/audit/tally.ts'
import type { Clock } from '../ports/clock.ts'
import type { WrittenRow } from '../ports/history.ts'
import { NO_SAVE, type Records } from '../ports/store.ts'
import type { AuditSignal } from './signals.ts'

interface PendingSave {
  readonly rows: readonly WrittenRow[]
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export class AuditBook {
  readonly #store: Pick<Records, 'save'>
  readonly #clock: Pick<Clock, 'now'>
  readonly #stored: (rows: readonly WrittenRow[]) => void
  readonly #signal: (signal: AuditSignal) => void
  readonly #tally = new RefusalTally()
  #waiting: PendingSave[] = []
  #isSaving = false
  readonly #writer: number
  #count = 0

  constructor(options: {
    readonly store: Pick<Records, 'save'>
    readonly clock: Pick<Clock, 'now'>
    /** Unique among all processes that write to the store, now or earlier. */
    readonly writer: number
    /** Called when these entries are in the outbox. */
    readonly stored: (rows: readonly WrittenRow[]) => void
    readonly signal: (signal: AuditSignal) => void
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#stored = options.stored
    this.#signal = options.signal
    this.#writer = options.writer
  }

  /** Rejects with a `Fault` when the entries could not be written (B1). */
  record(entries: readonly AuditEntry[]): Promise<void> {
    const at = this.#clock.now()
    return this.#write(entries.map((entry) => this.#row({ entry, at, count: 1 })))
  }

  /** Counts the refusal and writes what is due (B2). */
  refuse(entry: AuditEntry): void {
    const at = this.#clock.now()
    const written = [...this.#tally.take(at)]
    if (this.#tally.add(entry, at)) written.push({ entry, at, count: 1 })
    void this.#writeCounted(written)
  }

  /** Called about every quarter second, so that counts are written even if no more refusals come. */
  tick(): void {
    void this.#writeCounted(this.#tally.take(this.#clock.now()))
  }

  close(): Promise<void> {
    return this.#writeCounted(this.#tally.takeAll())
  }

  async #writeCounted(counted: readonly RefusalCount[]): Promise<void> {
    if (counted.length === 0) return
    try {
      await this.#write(counted.map((each) => this.#row(each)))
    } catch (error) {
      this.#signal({ kind: 'audit_lost', entries: counted.length, error })
    }
  }

  #row({ entry, at, count }: RefusalCount): WrittenRow {
    return auditRow(entry, { at: Millis(at), number: numberOfWriter(this.#writer, this.#count++), count })
  }

  #write(rows: readonly WrittenRow[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ rows, resolve, reject })
      if (!this.#isSaving) void this.#save()
    })
  }

  async #save(): Promise<void> {
    this.#isSaving = true
    while (this.#waiting.length > 0) {
      const together = this.#waiting
      this.#waiting = []
      try {
        const history = together.flatMap(({ rows }) => rows)
        await this.#store.save({ ...NO_SAVE, history })
        for (const { resolve } of together) resolve()
        this.#stored(history)
      } catch (error) {
        for (const { reject } of together) reject(error)
      }
    }
    this.#isSaving = false
  }
}
