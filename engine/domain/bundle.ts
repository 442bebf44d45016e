// The format of a bundle: device messages and requests in one log entry, read front to back without decoding.
//
//   kind u8 | flags u8 | receivedAt f64 | idLength u8 | suffixLength u16 | payloadLength u32
//   | id | via | origin | suffix | payload
//
// Little endian. `flags` holds QoS (bits 0-1), retain (2), last will (3), via (4), origin (5), sent again (6), replayed (7). `via` is
// there only with its flag: viaLength u8 and the id of the gateway that sent it for the device. So is `origin`, 16 bytes
// by which a broker outside identifies the message, or that name a replayed dead letter. A request's payload is msgpack.

import { Micros } from '../../schemas/ids.ts'

/** `listening`: a session subscribed to commands. `delivered`: the device acknowledged one. `heard`: a gateway showed that
 *  a sub-device is alive. `parked` marks a removed message (see `withoutItems`) and is never written to the log. */
export const ITEM = {
  message: 0,
  opened: 1,
  closed: 2,
  request: 3,
  parked: 4,
  listening: 5,
  delivered: 6,
  heard: 7,
} as const
export type ItemKind = (typeof ITEM)[keyof typeof ITEM]
const ITEM_HEADER_BYTES = 17
export const FLAG_RETAIN = 4
export const FLAG_WILL = 8
const FLAG_VIA = 16
const FLAG_ORIGIN = 32
/** The broker has sent the message before and does not know whether it arrived. */
export const FLAG_DUP = 64
/** The message is a dead letter being replayed. Its `origin` names the letter. */
export const FLAG_REPLAY = 128
export const ORIGIN_BYTES = 16
const NO_BYTES = new Uint8Array(0)

export interface Item {
  readonly kind: ItemKind
  readonly flags: number
  /** The receive time. The payload of session items holds the number of the session. */
  readonly receivedAt: Micros
  readonly id: Uint8Array
  /** The gateway that the message came through, empty if it came from the device itself. */
  readonly via: Uint8Array
  /** The id that a broker outside gave the message; empty for messages of the embedded broker. */
  readonly origin: Uint8Array
  readonly suffix: Uint8Array
  readonly payload: Uint8Array
}

const SIZE_START = 4 * 1024
const KEPT_BYTES_MAX = 128 * 1024

/** Collects the items of one partition. */
export class BundleWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(SIZE_START)
  #length = 0
  #count = 0

  get length(): number {
    return this.#length
  }

  /** Number of items collected. */
  get count(): number {
    return this.#count
  }

  add(item: Item): void {
    const { id, via, origin, suffix, payload } = item
    const start = this.#length
    const size = sizeOf(item)
    if (start + size > this.#bytes.length) this.#grow(start + size)
    const bytes = this.#bytes
    bytes[start] = item.kind
    bytes[start + 1] = flagsOf(item)
    bytes.writeDoubleLE(item.receivedAt, start + 2)
    bytes[start + 10] = id.length
    bytes[start + 11] = suffix.length & 0xff
    bytes[start + 12] = suffix.length >>> 8
    bytes.writeUInt32LE(payload.length, start + 13)
    bytes.set(id, start + ITEM_HEADER_BYTES)
    let at = start + ITEM_HEADER_BYTES + id.length
    if (via.length > 0) {
      bytes[at] = via.length
      bytes.set(via, at + 1)
      at += 1 + via.length
    }
    bytes.set(origin, at)
    at += origin.length
    bytes.set(suffix, at)
    bytes.set(payload, at + suffix.length)
    this.#length = start + size
    this.#count++
  }

  /** Returns the bundle's bytes and starts a new one in the same memory. Copying to the right size is cheaper than
   *  allocating memory for each bundle, because off-heap memory triggers the garbage collector. */
  take(): Uint8Array {
    const taken = Buffer.allocUnsafe(this.#length)
    taken.set(this.#bytes.subarray(0, this.#length))
    // The memory that one burst needed must not be kept for ever.
    if (this.#bytes.length > KEPT_BYTES_MAX && this.#length < this.#bytes.length / 4)
      this.#bytes = Buffer.allocUnsafeSlow(SIZE_START)
    this.#length = 0
    this.#count = 0
    return taken
  }

  #grow(needed: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    grown.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = grown
  }
}

function flagsOf({ flags, via, origin }: Item): number {
  const own = flags & ~(FLAG_VIA | FLAG_ORIGIN)
  return own | (via.length === 0 ? 0 : FLAG_VIA) | (origin.length === 0 ? 0 : FLAG_ORIGIN)
}

function sizeOf({ id, via, origin, suffix, payload }: Item): number {
  const viaBytes = via.length === 0 ? 0 : 1 + via.length
  return ITEM_HEADER_BYTES + id.length + viaBytes + origin.length + suffix.length + payload.length
}

/** Returns the bundle with these items parked, so that the positions of the others do not change. */
export function withoutItems(body: Uint8Array, indexes: ReadonlySet<number>): Uint8Array {
  const copy = Uint8Array.from(body)
  let at = 0
  let index = 0
  for (const item of readItems(body)) {
    if (indexes.has(index++)) copy[at] = ITEM.parked
    at += sizeOf(item)
  }
  return copy
}

/** Reads the items of one bundle in order. The views stay valid as long as the bundle's bytes do. */
export function* readItems(body: Uint8Array): Generator<Item> {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  let at = 0
  while (at < bytes.length) {
    const idStart = at + ITEM_HEADER_BYTES
    const idEnd = idStart + bytes.readUInt8(at + 10)
    const flags = bytes.readUInt8(at + 1)
    const isVia = (flags & FLAG_VIA) !== 0
    const viaEnd = isVia ? idEnd + 1 + bytes.readUInt8(idEnd) : idEnd
    const suffixStart = (flags & FLAG_ORIGIN) === 0 ? viaEnd : viaEnd + ORIGIN_BYTES
    const payloadStart = suffixStart + bytes.readUInt16LE(at + 11)
    const end = payloadStart + bytes.readUInt32LE(at + 13)
    if (end > bytes.length) throw new RangeError(`bundle cut short at ${at} of ${bytes.length} bytes`)
    yield {
      // BundleWriter writes no other kinds.
      kind: bytes.readUInt8(at) as ItemKind,
      flags,
      receivedAt: Micros(bytes.readDoubleLE(at + 2)),
      id: bytes.subarray(idStart, idEnd),
      via: isVia ? bytes.subarray(idEnd + 1, viaEnd) : NO_BYTES,
      origin: viaEnd === suffixStart ? NO_BYTES : bytes.subarray(viaEnd, suffixStart),
      suffix: bytes.subarray(suffixStart, payloadStart),
      payload: bytes.subarray(payloadStart, end),
    }
    at = end
  }
}
