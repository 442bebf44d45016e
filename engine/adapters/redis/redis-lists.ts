// Packs lists of byte strings as MessagePack, which Redis scripts unpack natively. Redis's unpacker has no binary
// type. It accepts strings of any bytes instead, which encoders for JavaScript do not write.

export type RedisBytes = Uint8Array | string | number

const ARRAY32 = 0xdd
const STR32 = 0xdb
const HEAD_BYTES = 5

export function packLists(lists: readonly (readonly RedisBytes[])[]): Buffer {
  const items = lists.map((list) => list.map(toBytes))
  const bytes = items.reduce(
    (sum, list) => list.reduce((inner, item) => inner + HEAD_BYTES + item.length, sum + HEAD_BYTES),
    HEAD_BYTES,
  )
  const packed = Buffer.allocUnsafe(bytes)
  let offset = writeHeader(packed, 0, ARRAY32, items.length)
  for (const list of items) {
    offset = writeHeader(packed, offset, ARRAY32, list.length)
    for (const item of list) {
      offset = writeHeader(packed, offset, STR32, item.length)
      packed.set(item, offset)
      offset += item.length
    }
  }
  return packed
}

/** Unpacks what `packLists` packed. The results are views of `packed`. */
export function unpackLists(packed: Buffer): readonly (readonly Buffer[])[] {
  let offset = 0
  const count = (): number => {
    const value = packed.readUInt32BE(offset + 1)
    offset += HEAD_BYTES
    return value
  }
  return Array.from({ length: count() }, () =>
    Array.from({ length: count() }, () => {
      const bytes = count()
      offset += bytes
      return packed.subarray(offset - bytes, offset)
    }),
  )
}

export function* pairs<T>(list: readonly T[]): Generator<readonly [T, T]> {
  for (let i = 0; i + 1 < list.length; i += 2) {
    const [first, second] = [list[i], list[i + 1]]
    if (first !== undefined && second !== undefined) yield [first, second]
  }
}

function writeHeader(into: Buffer, offset: number, kind: number, length: number): number {
  into[offset] = kind
  into.writeUInt32BE(length, offset + 1)
  return offset + HEAD_BYTES
}

function toBytes(item: RedisBytes): Uint8Array {
  return typeof item === 'object' ? item : Buffer.from(String(item), 'utf8')
}
