// Packets on their way out: whatever one link sends in a row goes out in one write.
import { type PublishPacket, toBytes, toPublish } from '../../publish-packet.ts'

export interface Sink {
  /** Takes one character for each byte. */
  write(bytes: string): void
}

/** A longer write is no cheaper for each of its bytes. */
const WRITE_BYTES_MAX = 64 * 1024

export class Tray {
  #bytes = ''
  #owner: Sink | undefined

  /** The topic is ASCII, the payload any text. */
  publish(sink: Sink, { topic, payload, head, packetId }: PublishPacket): void {
    this.add(sink, toPublish({ topic, payload: toBytes(payload), head, packetId }))
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
