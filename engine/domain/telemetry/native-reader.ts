// Reads back blocks that `native-writer.ts` wrote. It is needed for blocks that ClickHouse refuses, and for tests.
import { Buffer } from 'node:buffer'
import { Micros } from '../../../schemas/ids.ts'
import { COLUMNS, LOW_CARDINALITY_FLAGS, LOW_CARDINALITY_VERSION } from './native-writer.ts'

/** The points, or the texts, of one message. */
export interface BlockRow<Value> {
  readonly deviceId: string
  readonly at: Micros
  /** Seconds. */
  readonly received: number
  readonly version: number
  readonly metrics: readonly string[]
  readonly values: readonly Value[]
}

export type ReadBlock =
  | { readonly kind: 'points'; readonly rows: readonly BlockRow<number>[] }
  | { readonly kind: 'texts'; readonly rows: readonly BlockRow<string>[] }

/** Throws if the bytes are not such a block. */
export function readBlock(bytes: Uint8Array): ReadBlock {
  const reader = new Reader(bytes)
  const count = reader.start()
  reader.column(COLUMNS.device)
  reader.version()
  const devices = reader.lowCardinality(count)
  reader.column(COLUMNS.ts)
  const times = reader.list(count, () => reader.uint64())
  reader.column(COLUMNS.received)
  const received = reader.list(count, () => reader.uint32())
  reader.column(COLUMNS.version)
  const versions = reader.list(count, () => reader.uint64())
  reader.column(COLUMNS.metric)
  reader.version()
  const ends = reader.list(count, () => reader.uint64())
  const items = ends.at(-1) ?? 0
  const metrics = reader.lowCardinality(items)
  expect(reader.string() === COLUMNS.points.name, 'the value column')
  const type = reader.string()
  const valueEnds = reader.list(count, () => reader.uint64())
  expect(
    valueEnds.every((end, i) => end === ends[i]),
    'as many values as metrics',
  )
  const rowsOf = <Value>(values: readonly Value[]): BlockRow<Value>[] =>
    devices.map((deviceId, i) => ({
      deviceId,
      at: Micros(times[i] ?? 0),
      received: received[i] ?? 0,
      version: versions[i] ?? 0,
      metrics: metrics.slice(ends[i - 1] ?? 0, ends[i]),
      values: values.slice(ends[i - 1] ?? 0, ends[i]),
    }))
  if (type === COLUMNS.points.type) {
    const rows = rowsOf(reader.list(items, () => reader.float64()))
    reader.end()
    return { kind: 'points', rows }
  }
  expect(type === COLUMNS.texts.type, 'points or texts')
  const rows = rowsOf(reader.list(items, () => reader.string()))
  reader.end()
  return { kind: 'texts', rows }
}

/** Reads the parts of a block in order, and throws on anything unexpected. */
export class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /** Returns the number of rows. */
  start(): number {
    expect(this.varint() === 6, 'six columns')
    return this.varint()
  }

  list<T>(count: number, read: () => T): T[] {
    return Array.from({ length: count }, read)
  }

  varint(): number {
    let value = 0
    for (let unit = 1; ; unit *= 0x80) {
      const byte = this.#bytes.readUInt8(this.#at++)
      value += (byte & 0x7f) * unit
      if (byte < 0x80) return value
    }
  }

  string(): string {
    const start = this.#skip(this.varint())
    return this.#bytes.toString('utf8', start, this.#at)
  }

  uint32(): number {
    return this.#bytes.readUInt32LE(this.#skip(4))
  }

  uint64(): number {
    return this.uint32() + this.uint32() * 2 ** 32
  }

  float64(): number {
    return this.#bytes.readDoubleLE(this.#skip(8))
  }

  column({ name, type }: { readonly name: string; readonly type: string }): void {
    expect(this.string() === name && this.string() === type, `column ${name} ${type}`)
  }

  version(): void {
    expect(this.uint64() === LOW_CARDINALITY_VERSION, 'the version of LowCardinality')
  }

  lowCardinality(count: number): string[] {
    if (count === 0) return []
    const type = this.uint64() - LOW_CARDINALITY_FLAGS
    const width = 2 ** type
    expect(width === 1 || width === 2 || width === 4, 'an index type')
    const keyCount = this.uint64()
    const keys = this.list(keyCount, () => this.string())
    expect(this.uint64() === count, 'as many indexes as values')
    return this.list(count, () => {
      const key = keys[this.#bytes.readUIntLE(this.#skip(width), width)]
      if (key === undefined) throw new Error('not a block: an index without a key')
      return key
    })
  }

  end(): void {
    expect(this.#at === this.#bytes.length, 'nothing after the last column')
  }

  #skip(count: number): number {
    const start = this.#at
    this.#at += count
    expect(this.#at <= this.#bytes.length, 'more bytes')
    return start
  }
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not a block: expected ${what}`)
}
