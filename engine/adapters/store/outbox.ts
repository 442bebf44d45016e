// The outbox holds one batch of history per save. Keys sort by age, and the number of rows is part of the key.
import { Micros } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { WrittenRow } from '../../ports/history.ts'
import type { OutboxCounts, Save } from '../../ports/store.ts'

export interface OutboxBounds {
  readonly rowsMax: number
  readonly bytesMax: number
}
export const OUTBOX_BOUNDS: OutboxBounds = {
  rowsMax: LIMITS.outboxRowsMax,
  bytesMax: LIMITS.outboxBytesMax,
}

/** Rows are dropped in lumps, so that a full outbox is not searched for every new row. */
const DROPPED_AT_ONCE = 1_000
/** Digits of a time in base 36: enough for any number of microseconds that JavaScript represents exactly. */
const TIME_DIGITS = 11

/** The same save always gets the same key, so writing it again is harmless. */
export function outboxKey(rows: Save['history']): string | undefined {
  const [first] = rows
  if (first === undefined) return undefined
  const { at, version, kind, deviceId } = first
  const time = at.toString(36).padStart(TIME_DIGITS, '0')
  return `${time}/${version.toString(36)}/${kind}/${deviceId}/${rows.length}`
}

/** When the first row of the batch happened. */
export function timeOfBatch(key: string): Micros {
  return Micros(Number.parseInt(key, 36))
}

export function rowsOfBatch(key: string): number {
  return Number(key.slice(key.lastIndexOf('/') + 1))
}

type PackedRow = readonly [
  deviceId: WrittenRow['deviceId'],
  kind: WrittenRow['kind'],
  at: WrittenRow['at'],
  version: number,
  body: string,
]

export function packedRows(rows: readonly WrittenRow[]): readonly PackedRow[] {
  return rows.map(({ deviceId, kind, at, version, body }) => [deviceId, kind, at, version, body])
}

export function unpackedRows(packed: readonly PackedRow[]): readonly WrittenRow[] {
  return packed.map(([deviceId, kind, at, version, body]) => ({
    deviceId,
    kind,
    at,
    version,
    body,
  }))
}

/** Counts rows after each write. The adapter stores them. */
export class OutboxCount {
  readonly #bounds: OutboxBounds
  #rows = 0
  #dropped = 0

  constructor(bounds: OutboxBounds) {
    this.#bounds = bounds
  }

  counts(): OutboxCounts {
    return { rows: this.#rows, dropped: this.#dropped }
  }

  /** How many of the oldest rows must go to make room for `adding` new ones; `bytes` is the size stored now. */
  excess(adding: number, bytes: number): number {
    const isFull = this.#rows + adding > this.#bounds.rowsMax || bytes > this.#bounds.bytesMax
    return isFull && this.#rows > 0 ? Math.max(adding, Math.min(DROPPED_AT_ONCE, this.#bounds.rowsMax)) : 0
  }

  added(rows: number): void {
    this.#rows += rows
  }

  removed(keys: readonly string[]): void {
    for (const key of keys) this.#rows = Math.max(0, this.#rows - rowsOfBatch(key))
  }

  dropped(keys: readonly string[]): void {
    this.removed(keys)
    for (const key of keys) this.#dropped += rowsOfBatch(key)
  }
}

/** The oldest of these keys that together hold at least this many rows. */
export function oldestBatches(keys: Iterable<string>, rows: number): readonly string[] {
  const oldest: string[] = []
  let found = 0
  for (const key of keys) {
    if (found >= rows) break
    oldest.push(key)
    found += rowsOfBatch(key)
  }
  return oldest
}
