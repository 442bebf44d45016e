// Encodes the bundles of one append as one message:
//
//   format u8 | latestAt f64 | count u16 | count × (partition u16 | length u32) | bodies
//
// Numbers are little-endian.
import { Micros, Partition } from '../../../../schemas/ids.ts'
import type { Bundle } from '../../../ports/log.ts'

const FORMAT = 1
const HEAD_BYTES = 11
const ENTRY_BYTES = 6

export function joinBundles(bundles: readonly Bundle[], latestAt: Micros): Uint8Array {
  const size = bundles.reduce((sum, { body }) => sum + body.length, 0)
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + ENTRY_BYTES * bundles.length + size)
  bytes[0] = FORMAT
  bytes.writeDoubleLE(latestAt, 1)
  bytes.writeUInt16LE(bundles.length, 9)
  let at = HEAD_BYTES
  let bodyAt = HEAD_BYTES + ENTRY_BYTES * bundles.length
  for (const { partition, body } of bundles) {
    bytes.writeUInt16LE(partition, at)
    bytes.writeUInt32LE(body.length, at + 2)
    bytes.set(body, bodyAt)
    at += ENTRY_BYTES
    bodyAt += body.length
  }
  return bytes
}

export function latestAtOf(bytes: Uint8Array): Micros {
  return Micros(dataOf(bytes).getFloat64(1, true))
}

/** The returned bodies are views of `bytes`. */
export function splitBundles(bytes: Uint8Array): readonly Bundle[] {
  const data = dataOf(bytes)
  const count = data.getUint16(9, true)
  const bundles: Bundle[] = []
  let bodyAt = HEAD_BYTES + ENTRY_BYTES * count
  for (let i = 0; i < count; i++) {
    const at = HEAD_BYTES + ENTRY_BYTES * i
    const end = bodyAt + data.getUint32(at + 2, true)
    bundles.push({ partition: Partition(data.getUint16(at, true)), body: bytes.subarray(bodyAt, end) })
    bodyAt = end
  }
  return bundles
}

function dataOf(bytes: Uint8Array): DataView {
  if (bytes[0] !== FORMAT) throw new Error(`a log message of unknown format ${bytes[0]}`)
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
