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
  let at = head(packed, 0, ARRAY32, items.length)
  for (const list of items) {
    at = head(packed, at, ARRAY32, list.length)
    for (const item of list) {
      at = head(packed, at, STR32, item.length)
      packed.set(item, at)
      at += item.length
    }
  }
  return packed
}

/** Unpacks what `packLists` packed. The results are views of `packed`. */
export function unpackLists(packed: Buffer): readonly (readonly Buffer[])[] {
  let at = 0
  const count = (): number => {
    const value = packed.readUInt32BE(at + 1)
    at += HEAD_BYTES
    return value
  }
  return Array.from({ length: count() }, () =>
    Array.from({ length: count() }, () => {
      const bytes = count()
      at += bytes
      return packed.subarray(at - bytes, at)
    }),
  )
}

/** Groups the items in pairs. */
export function* pairs<T>(list: readonly T[]): Generator<readonly [T, T]> {
  for (let i = 0; i + 1 < list.length; i += 2) {
    const [first, second] = [list[i], list[i + 1]]
    if (first !== undefined && second !== undefined) yield [first, second]
  }
}

function head(into: Buffer, at: number, kind: number, length: number): number {
  into[at] = kind
  into.writeUInt32BE(length, at + 1)
  return at + HEAD_BYTES
}

function toBytes(item: RedisBytes): Uint8Array {
  return typeof item === 'object' ? item : Buffer.from(String(item), 'utf8')
}
