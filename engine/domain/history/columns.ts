// Collects rows of the history and encodes them as a block. Each shard has one for the log lines of its devices, and the
// writer of the store's outbox has another.
import type { Micros } from '../../../schemas/ids.ts'
import type { EncodedBlock } from '../telemetry/columns.ts'
import { Dictionary, type DictionarySavepoint, StringBytes } from '../telemetry/dictionary.ts'
import {
  bytesOf,
  COLUMNS,
  columnHeader,
  indexBytes,
  joinBlock,
  LOW_CARDINALITY_VERSION,
  uint64,
} from '../telemetry/native-writer.ts'
import { grown } from '../telemetry/rows.ts'
import type { WrittenRow } from './row.ts'

export const HISTORY_COLUMNS = {
  device: COLUMNS.device,
  kind: { name: 'kind', type: 'LowCardinality(String)' },
  at: { name: 'at', type: COLUMNS.ts.type },
  version: COLUMNS.version,
  received: COLUMNS.received,
  body: { name: 'body', type: 'String' },
} as const

export interface HistorySavepoint {
  readonly rows: number
  readonly devices: DictionarySavepoint
  readonly kinds: DictionarySavepoint
  readonly bodyBytes: number
}

const ROWS_START = 256
const TWO_32 = 2 ** 32

export class HistoryColumns {
  #rows = 0
  readonly #devices = new Dictionary()
  readonly #kinds = new Dictionary()
  readonly #bodies = new StringBytes()
  // A 64-bit number is stored as two halves, the low one first, as in `domain/telemetry/rows.ts`.
  #device = new Uint32Array(ROWS_START)
  #kind = new Uint32Array(ROWS_START)
  #at = new Uint32Array(ROWS_START * 2)
  #version = new Uint32Array(ROWS_START * 2)
  #received = new Uint32Array(ROWS_START)
  /** Kept while nothing is added, because a shard takes a savepoint before every message. */
  #savepoint: HistorySavepoint | undefined

  get rows(): number {
    return this.#rows
  }

  /** The size of all bodies, which make up almost the whole block. */
  get bytes(): number {
    return this.#bodies.length
  }

  /** A row that is added again must have the same receive time, because this decides where the row is stored. */
  add(row: WrittenRow, receivedAt: Micros): void {
    this.#savepoint = undefined
    const index = this.#rows++
    if (index === this.#device.length) this.#grow()
    const two = index * 2
    this.#device[index] = this.#devices.indexOf(row.deviceId)
    this.#kind[index] = this.#kinds.indexOf(row.kind)
    // A Uint32Array keeps the lower 32 bits of a number.
    this.#at[two] = row.at
    this.#at[two + 1] = row.at / TWO_32
    this.#version[two] = row.version
    this.#version[two + 1] = row.version / TWO_32
    this.#received[index] = receivedAt / 1_000_000
    this.#bodies.add(row.body)
  }

  savepoint(): HistorySavepoint {
    this.#savepoint ??= {
      rows: this.#rows,
      devices: this.#devices.savepoint(),
      kinds: this.#kinds.savepoint(),
      bodyBytes: this.#bodies.length,
    }
    return this.#savepoint
  }

  /** Removes everything added since the savepoint, so that a dropped proposal leaves no trace (R4). A savepoint is invalid
   *  after `take`. */
  truncate(savepoint: HistorySavepoint): void {
    if (savepoint === this.#savepoint) return
    this.#savepoint = undefined
    this.#rows = savepoint.rows
    this.#devices.truncate(savepoint.devices)
    this.#kinds.truncate(savepoint.kinds)
    this.#bodies.truncate(savepoint.bodyBytes)
  }

  /** Encodes the collected rows and removes them. */
  take(): EncodedBlock | undefined {
    const rows = this.#rows
    if (rows === 0) return undefined
    const bytes = joinBlock(rows, [
      columnHeader(HISTORY_COLUMNS.device),
      uint64(LOW_CARDINALITY_VERSION),
      ...indexBytes(this.#devices, this.#device.subarray(0, rows)),
      columnHeader(HISTORY_COLUMNS.kind),
      uint64(LOW_CARDINALITY_VERSION),
      ...indexBytes(this.#kinds, this.#kind.subarray(0, rows)),
      columnHeader(HISTORY_COLUMNS.at),
      bytesOf(this.#at.subarray(0, rows * 2)),
      columnHeader(HISTORY_COLUMNS.version),
      bytesOf(this.#version.subarray(0, rows * 2)),
      columnHeader(HISTORY_COLUMNS.received),
      bytesOf(this.#received.subarray(0, rows)),
      columnHeader(HISTORY_COLUMNS.body),
      this.#bodies.view,
    ])
    this.#savepoint = undefined
    this.#rows = 0
    this.#devices.clear()
    this.#kinds.clear()
    this.#bodies.truncate(0)
    return { bytes, rows }
  }

  #grow(): void {
    const twice = (column: Uint32Array<ArrayBuffer>) => grown(column, column.length * 2)
    this.#device = twice(this.#device)
    this.#kind = twice(this.#kind)
    this.#at = twice(this.#at)
    this.#version = twice(this.#version)
    this.#received = twice(this.#received)
  }
}
