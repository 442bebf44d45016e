// Encodes a block in ClickHouse's `Native` format, as its HTTP interface accepts it (protocol revision 0):
//
//   varint columns | varint rows | per column: name | type | data
//
// An Array consists of its offsets (UInt64, cumulative) and its elements. A LowCardinality begins with a UInt64 version,
// which comes before the offsets if it is inside an Array. If there are values, these follow: UInt64 flags and index type,
// UInt64 number of keys, the keys, UInt64 number of values, the indexes.
import { Buffer } from 'node:buffer'
import { type Dictionary, varintBytes, writeVarint } from './dictionary.ts'
import type { Rows } from './rows.ts'

export const COLUMNS = {
  device: { name: 'device_id', type: 'LowCardinality(String)' },
  ts: { name: 'ts', type: "DateTime64(6, 'UTC')" },
  received: { name: 'received', type: "DateTime('UTC')" },
  version: { name: 'version', type: 'UInt64' },
  metric: { name: 'metric', type: 'Array(LowCardinality(String))' },
  points: { name: 'value', type: 'Array(Float64)' },
  texts: { name: 'value', type: 'Array(String)' },
} as const
interface Column {
  readonly name: string
  readonly type: string
}

/** The block contains its own keys instead of using a dictionary shared with other blocks. */
export const LOW_CARDINALITY_FLAGS = 0x600
export const LOW_CARDINALITY_VERSION = 1
const COLUMN_COUNT = 6

/** There must be at least one row. `values` holds the encoded values of all items, in order. */
export function encodeBlock(rows: Rows, kind: 'points' | 'texts', values: Uint8Array): Uint8Array {
  const { device, ts, received, version, end, metric } = rows
  const devices = indexBytes(rows.devices, device.subarray(0, rows.rows))
  const metrics = indexBytes(rows.metrics, metric.subarray(0, rows.items))
  const offsets = bytesOf(end.subarray(0, rows.rows * 2))
  return joinBlock(rows.rows, [
    columnHeader(COLUMNS.device),
    uint64(LOW_CARDINALITY_VERSION),
    ...devices,
    columnHeader(COLUMNS.ts),
    bytesOf(ts.subarray(0, rows.rows * 2)),
    columnHeader(COLUMNS.received),
    bytesOf(received.subarray(0, rows.rows)),
    columnHeader(COLUMNS.version),
    bytesOf(version.subarray(0, rows.rows * 2)),
    columnHeader(COLUMNS.metric),
    uint64(LOW_CARDINALITY_VERSION),
    offsets,
    ...metrics,
    columnHeader(COLUMNS[kind]),
    offsets,
    values,
  ])
}

/** Joins the six columns of a block in a buffer of its own, so that it can be transferred to another thread. */
export function joinBlock(rows: number, columns: readonly Uint8Array[]): Uint8Array {
  const parts = [header(rows), ...columns]
  const block = Buffer.allocUnsafeSlow(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    block.set(part, at)
    at += part.length
  }
  return block
}

function header(rows: number): Uint8Array {
  const bytes = new Uint8Array(varintBytes(COLUMN_COUNT) + varintBytes(rows))
  writeVarint(bytes, rows, writeVarint(bytes, COLUMN_COUNT, 0))
  return bytes
}

export function columnHeader({ name, type }: Column): Uint8Array {
  return Buffer.from(`${String.fromCharCode(name.length)}${name}${String.fromCharCode(type.length)}${type}`)
}

export function indexBytes(keys: Dictionary, indexes: Uint32Array): Uint8Array[] {
  if (indexes.length === 0) return []
  const { type, bytes } = narrowed(keys.size, indexes)
  return [uint64(LOW_CARDINALITY_FLAGS + type), uint64(keys.size), keys.bytes, uint64(indexes.length), bytes]
}

/** Encodes the indexes in one, two or four bytes each, depending on the number of keys. `type` is 0, 1 or 2. */
function narrowed(keys: number, indexes: Uint32Array): { type: number; bytes: Uint8Array } {
  if (keys <= 0x100) return { type: 0, bytes: Uint8Array.from(indexes) }
  if (keys <= 0x1_0000) return { type: 1, bytes: bytesOf(Uint16Array.from(indexes)) }
  return { type: 2, bytes: bytesOf(indexes) }
}

export function bytesOf(column: Uint32Array | Uint16Array | Float64Array): Uint8Array {
  return new Uint8Array(column.buffer, column.byteOffset, column.byteLength)
}

export function uint64(value: number): Uint8Array {
  return bytesOf(Uint32Array.of(value, 0))
}
