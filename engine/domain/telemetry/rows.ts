// Collects the rows of a block: one row per message, with a list of items (metric and value). The values themselves are
// kept elsewhere, because points and texts need different columns. A 64-bit number is stored as two halves, the low one
// first, so that no BigInt is needed and the bytes can be copied as they are. This assumes a little-endian machine.
import type { Micros } from '../../../schemas/ids.ts'
import { Dictionary, type DictionarySavepoint } from './dictionary.ts'
import type { About } from './payload.ts'

const ROWS_START = 1024
const ITEMS_START = 8192
const TWO_32 = 2 ** 32

export interface RowsSavepoint {
  readonly rows: number
  readonly items: number
  readonly devices: DictionarySavepoint
  readonly metrics: DictionarySavepoint
}

export class Rows {
  rows = 0
  items = 0
  readonly devices = new Dictionary()
  readonly metrics = new Dictionary()
  device = new Uint32Array(ROWS_START)
  ts = new Uint32Array(ROWS_START * 2)
  received = new Uint32Array(ROWS_START)
  version = new Uint32Array(ROWS_START * 2)
  /** The number of items up to and including each row, which is the offset in an Array column. */
  end = new Uint32Array(ROWS_START * 2)
  metric = new Uint32Array(ITEMS_START)
  /** A new object each time the numbers of metrics may have become invalid. */
  epoch: object = {}

  /** Ends a row. It consists of the items that were added since the previous row. */
  close(about: About, at: Micros): void {
    const row = this.rows
    if (row === this.device.length) this.#growRows()
    this.rows = row + 1
    const { receivedAt, version } = about
    const two = row * 2
    this.device[row] = this.devices.indexOf(about.deviceId)
    // A Uint32Array keeps the lower 32 bits of a number.
    this.ts[two] = at
    this.ts[two + 1] = at / TWO_32
    this.received[row] = receivedAt / 1_000_000
    this.version[two] = version
    this.version[two + 1] = version / TWO_32
    this.end[two] = this.items
  }

  add(metric: number): void {
    if (this.items === this.metric.length) this.#growItems(this.items + 1)
    this.metric[this.items++] = metric
  }

  addAll(metrics: Uint32Array): void {
    const { items } = this
    if (items + metrics.length > this.metric.length) this.#growItems(items + metrics.length)
    const { metric } = this
    for (let i = 0; i < metrics.length; i++) metric[items + i] = metrics[i] ?? 0
    this.items = items + metrics.length
  }

  savepoint(): RowsSavepoint {
    const { rows, items } = this
    return { rows, items, devices: this.devices.savepoint(), metrics: this.metrics.savepoint() }
  }

  truncate(savepoint: RowsSavepoint): void {
    if (savepoint.metrics.size !== this.metrics.size) this.epoch = {}
    this.rows = savepoint.rows
    this.items = savepoint.items
    this.devices.truncate(savepoint.devices)
    this.metrics.truncate(savepoint.metrics)
  }

  clear(): void {
    this.rows = 0
    this.items = 0
    this.devices.clear()
    this.metrics.clear()
    this.epoch = {}
  }

  #growRows(): void {
    this.device = grown(this.device, this.device.length * 2)
    this.ts = grown(this.ts, this.ts.length * 2)
    this.received = grown(this.received, this.received.length * 2)
    this.version = grown(this.version, this.version.length * 2)
    this.end = grown(this.end, this.end.length * 2)
  }

  #growItems(needed: number): void {
    this.metric = grown(this.metric, Math.max(needed, this.metric.length * 2))
  }
}

export function grown(column: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const wider = new Uint32Array(length)
  wider.set(column)
  return wider
}
