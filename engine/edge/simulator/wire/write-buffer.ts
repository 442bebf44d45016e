// Collects packets that one link sends in a row, so that they leave in one write.
import { type PublishPacket, toBytes, toPublish } from '../../publish-packet.ts'

export interface Sink {
  /** `bytes` contains one character per byte. */
  write(bytes: string): void
}

/** A longer write is no cheaper per byte. */
const WRITE_BYTES_MAX = 64 * 1024

export class WriteBuffer {
  #bytes = ''
  #owner: Sink | undefined

  /** The topic must be ASCII. The payload may be any text. */
  publish(sink: Sink, { topic, payload, head, packetId }: PublishPacket): void {
    this.add(sink, toPublish({ topic, payload: toBytes(payload), head, packetId }))
  }

  add(sink: Sink, packet: string): void {
    if (this.#owner !== sink || this.#bytes.length + packet.length > WRITE_BYTES_MAX) this.flush()
    this.#owner = sink
    this.#bytes += packet
  }

  /** Writes the collected packets. It must be called when no more packets follow for now. */
  flush(): void {
    const [owner, bytes] = [this.#owner, this.#bytes]
    this.#owner = undefined
    this.#bytes = ''
    owner?.write(bytes)
  }
}
