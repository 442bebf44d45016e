// Takes acknowledgements out of the bytes of a stream before the MQTT client sees them. The client would create an object for each,
// reset its timers and use two turns of the event loop, for messages that it knows nothing of.
//
// - The client gets every other byte, in order, as soon as it has arrived.
import { Buffer } from 'node:buffer'

/** A PUBACK of MQTT 3.1.1 is four bytes long. The last two are the packet identifier. */
const PUBACK = 0x40
const PUBACK_REST = 2
const LENGTH_BYTES_MAX = 4

export interface AckSieveOwner {
  /** Returns true if this acknowledgement was awaited here. Otherwise the client gets it. */
  readonly take: (id: number) => boolean
  readonly pass: (bytes: Buffer) => void
}

export class AckSieve {
  readonly #owner: AckSieveOwner
  /** The start of a packet, too short to tell its type and size. */
  #rest: Buffer | undefined
  /** Remaining bytes of a packet that belongs to the client. */
  #left = 0

  constructor(owner: AckSieveOwner) {
    this.#owner = owner
  }

  read(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = undefined
    /** Start of the bytes that are passed to the client next. */
    let from = 0
    let at = Math.min(this.#left, bytes.length)
    this.#left -= at
    while (at < bytes.length) {
      const size = sizeOf(bytes, at)
      if (size === undefined) break
      const end = at + size
      if (bytes[at] === PUBACK && bytes[at + 1] === PUBACK_REST) {
        if (end > bytes.length) break
        if (this.#owner.take(bytes.readUInt16BE(at + 2))) {
          if (at > from) this.#owner.pass(bytes.subarray(from, at))
          from = end
        }
      }
      at = Math.min(end, bytes.length)
      this.#left = end - at
    }
    if (at > from) this.#owner.pass(bytes.subarray(from, at))
    if (at < bytes.length) this.#rest = bytes.subarray(at)
  }
}

/** Size of the packet that begins at `from`; undefined if too few bytes have arrived to tell. */
function sizeOf(bytes: Buffer, from: number): number | undefined {
  let length = 0
  for (let nth = 0; nth < LENGTH_BYTES_MAX; nth++) {
    const byte = bytes[from + 1 + nth]
    if (byte === undefined) return undefined
    length += (byte & 0x7f) * 128 ** nth
    if (byte < 0x80) return 2 + nth + length
  }
  // Not MQTT. The client gets everything that follows, and reports the error.
  return Number.POSITIVE_INFINITY
}
