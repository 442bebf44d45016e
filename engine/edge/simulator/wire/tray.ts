// Packets on their way out. All links share one buffer: whatever one link sends in a row goes out in one write.
export interface Sink {
  /** The bytes may be kept. */
  write(bytes: Uint8Array): void
}

const BYTES = 64 * 1024

export class Tray {
  readonly #bytes = Buffer.allocUnsafeSlow(BYTES)
  #used = 0
  #owner: Sink | undefined

  /** Adds a PUBLISH. Packets that do not fit the buffer go out alone. */
  publish(sink: Sink, packet: Publish): void {
    const { topic, payload, head, packetId } = packet
    const payloadBytes = Buffer.byteLength(payload)
    const topicBytes = Buffer.byteLength(topic)
    const idBytes = packetId === 0 ? 0 : 2
    const rest = 2 + topicBytes + idBytes + payloadBytes
    const size = 1 + (rest < 128 ? 1 : rest < 16_384 ? 2 : rest < 2_097_152 ? 3 : 4) + rest
    const [bytes, from] = this.#room(sink, size)
    let at = from
    bytes[at++] = head
    for (let left = rest; ; ) {
      const low = left & 0x7f
      left >>= 7
      bytes[at++] = left > 0 ? low | 0x80 : low
      if (left === 0) break
    }
    bytes[at++] = topicBytes >> 8
    bytes[at++] = topicBytes & 0xff
    at += bytes.write(topic, at, 'latin1')
    if (idBytes > 0) {
      bytes[at++] = packetId >> 8
      bytes[at++] = packetId & 0xff
    }
    bytes.write(payload, at, 'utf8')
    if (bytes !== this.#bytes) sink.write(bytes)
  }

  add(sink: Sink, packet: Uint8Array): void {
    const [bytes, at] = this.#room(sink, packet.length)
    bytes.set(packet, at)
    if (bytes !== this.#bytes) sink.write(bytes)
  }

  /** Writes what is there. Called whenever nothing more will be sent for now. */
  flush(): void {
    const [owner, used] = [this.#owner, this.#used]
    this.#owner = undefined
    this.#used = 0
    // A copy, because the socket may take it later.
    if (owner !== undefined && used > 0) owner.write(Buffer.from(this.#bytes.subarray(0, used)))
  }

  #room(sink: Sink, size: number): readonly [bytes: Buffer, at: number] {
    if (this.#owner !== sink || this.#used + size > BYTES) this.flush()
    if (size > BYTES) return [Buffer.allocUnsafe(size), 0]
    this.#owner = sink
    const at = this.#used
    this.#used += size
    return [this.#bytes, at]
  }
}

export interface Publish {
  /** Writes ASCII. */
  readonly topic: string
  readonly payload: string
  /** First byte of the packet: kind and flags. */
  readonly head: number
  /** Zero with QoS 0. */
  readonly packetId: number
}
