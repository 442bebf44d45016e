// Packets on their way out: whatever one link sends in a row goes out in one write.
//
// - Packets are text with one character for each byte. Node hands such a text to the kernel as it is, while each buffer costs an
//   object of its own and a copy.

export interface Sink {
  /** Takes one character for each byte. */
  write(bytes: string): void
}

/** A longer write is no cheaper for each of its bytes. */
const WRITE_BYTES_MAX = 64 * 1024

export class Tray {
  #bytes = ''
  #owner: Sink | undefined

  publish(sink: Sink, { topic, payload, head, packetId }: Publish): void {
    const id = packetId === 0 ? '' : toWord(packetId)
    const body = toBytes(payload)
    const rest = 2 + topic.length + id.length + body.length
    const start = String.fromCharCode(head) + toLength(rest) + toWord(topic.length)
    this.add(sink, start + topic + id + body)
  }

  add(sink: Sink, packet: string): void {
    if (this.#owner !== sink || this.#bytes.length + packet.length > WRITE_BYTES_MAX) this.flush()
    this.#owner = sink
    this.#bytes += packet
  }

  /** Writes what is there. Called whenever nothing more will be sent for now. */
  flush(): void {
    const [owner, bytes] = [this.#owner, this.#bytes]
    this.#owner = undefined
    this.#bytes = ''
    owner?.write(bytes)
  }
}

export interface Publish {
  /** Writes ASCII. */
  readonly topic: string
  readonly payload: string
  /** The first byte of the packet. */
  readonly head: number
  /** Zero with QoS 0. */
  readonly packetId: number
}

/** Two bytes, the higher one first. */
export function toWord(value: number): string {
  return String.fromCharCode(value >> 8, value & 0xff)
}

/** [MQTT 3.1.1, 2.2.3] */
function toLength(length: number): string {
  if (length < 0x80) return String.fromCharCode(length)
  return String.fromCharCode((length & 0x7f) | 0x80) + toLength(length >> 7)
}

/** UTF-8. Nearly all texts are ASCII, and so are their bytes already. */
function toBytes(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1')
}
