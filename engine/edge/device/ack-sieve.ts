// Takes acknowledgements out of what a stream reads, before an MQTT client sees it. The client makes an object of each packet,
// sets its timers anew and goes through two turns, for messages that it knows nothing of.
//
// - The client gets every other byte, in order, as soon as it has come.
import { Buffer } from 'node:buffer'

/** PUBACK of MQTT 3.1.1 is four bytes long, and the last two are the packet identifier. */
const PUBACK = 0x40
const PUBACK_REST = 2
const LENGTH_BYTES_MAX = 4

export interface AckSieveOwner {
  /** True if the acknowledgement was awaited here. If not, the client gets it. */
  readonly take: (id: number) => boolean
  readonly pass: (bytes: Buffer) => void
}

export class AckSieve {
  readonly #owner: AckSieveOwner
  /** The beginning of a packet, too little of it to know what it is. */
  #rest: Buffer | undefined
  /** Bytes to come of a packet that is the client's. */
  #left = 0

  constructor(owner: AckSieveOwner) {
    this.#owner = owner
  }

  read(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = undefined
    /** Where that begins which the client gets next. */
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

/** Bytes of the packet that begins at `from`; undefined if too few are there to know. */
function sizeOf(bytes: Buffer, from: number): number | undefined {
  let length = 0
  for (let nth = 0; nth < LENGTH_BYTES_MAX; nth++) {
    const byte = bytes[from + 1 + nth]
    if (byte === undefined) return undefined
    length += (byte & 0x7f) * 128 ** nth
    if (byte < 0x80) return 2 + nth + length
  }
  // This is no MQTT. The client gets all that follows, and says so.
  return Number.POSITIVE_INFINITY
}
