// The outbox in a table of the store's LMDB file: history that is saved but not in ClickHouse yet.
import type { OutboxBatch, Save } from '../../ports/store.ts'
import type { Change, LmdbEnv } from '../lmdb/lmdb-env.ts'
import { put, unpack } from './lmdb-values.ts'
import {
  type OutboxBounds,
  OutboxCount,
  oldestBatches,
  outboxKey,
  packedRows,
  rowsOfBatch,
  timeOfBatch,
  unpackedRows,
} from './outbox.ts'

const OUTBOX = 'outbox'
export const OUTBOX_TABLES: readonly string[] = [OUTBOX]

/** Changes that a save makes to the outbox. */
interface OutboxChanges {
  readonly changes: readonly Change[]
  readonly added: number
  readonly dropped: readonly string[]
}

const NO_CHANGES: OutboxChanges = { changes: [], added: 0, dropped: [] }

export class LmdbOutbox {
  readonly #env: LmdbEnv
  readonly #count: OutboxCount

  constructor(env: LmdbEnv, bounds: OutboxBounds) {
    this.#env = env
    this.#count = new OutboxCount(bounds)
    for (const key of this.#keys()) this.#count.added(rowsOfBatch(key))
  }

  oldest({ rowsMax, bytesMax }: OutboxBounds): readonly OutboxBatch[] {
    const batches: OutboxBatch[] = []
    let rows = 0
    for (const { key, value } of this.#env.readFirst(OUTBOX, bytesMax)) {
      rows += rowsOfBatch(String(key))
      if (batches.length > 0 && rows > rowsMax) break
      batches.push({ key: String(key), rows: unpackedRows(unpack(value)) })
    }
    return batches
  }

  oldestAt() {
    const [key] = this.#keys(1)
    return key === undefined ? undefined : timeOfBatch(key)
  }

  counts() {
    return this.#count.counts()
  }

  changesOf(rows: Save['history']): OutboxChanges {
    const key = outboxKey(rows)
    if (key === undefined) return NO_CHANGES
    const isStored = this.#has(key)
    const excess = isStored ? 0 : this.#count.excess(rows.length, this.#env.bytesOf(OUTBOX))
    const dropped = excess === 0 ? [] : oldestBatches(this.#keys(), excess)
    const changes = [...dropped.map(toRemoval), put(OUTBOX, key, packedRows(rows))]
    return { changes, added: isStored ? 0 : rows.length, dropped }
  }

  /** Called when the changes have been written. */
  saved({ added, dropped }: OutboxChanges): void {
    this.#count.added(added)
    this.#count.dropped(dropped)
  }

  removalOf(keys: readonly string[]): {
    readonly keys: readonly string[]
    readonly changes: readonly Change[]
  } {
    const stored = keys.filter((key) => this.#has(key))
    return { keys: stored, changes: stored.map(toRemoval) }
  }

  /** Called when the removal of these keys has been written. */
  removed(keys: readonly string[]): void {
    this.#count.removed(keys)
  }

  #has(key: string): boolean {
    return this.#env.peek(OUTBOX, key) !== undefined
  }

  *#keys(limit?: number): Generator<string> {
    for (const key of this.#env.keys(OUTBOX, limit === undefined ? {} : { limit })) yield String(key)
  }
}

function toRemoval(key: string): Change {
  return { table: OUTBOX, key }
}
