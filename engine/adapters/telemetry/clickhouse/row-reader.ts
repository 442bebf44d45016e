// Reads values in ClickHouse's RowBinary format one after the other.
export class RowReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  hasMore(): boolean {
    return this.#at < this.#bytes.length
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#at++)
  }

  /** Reads signed and unsigned integers alike: stored values are far from both limits. */
  int64(): number {
    this.#at += 8
    return Number(this.#bytes.readBigInt64LE(this.#at - 8))
  }

  float64(): number {
    this.#at += 8
    return this.#bytes.readDoubleLE(this.#at - 8)
  }

  text(): string {
    let length = 0
    for (let unit = 1; ; unit *= 0x80) {
      const byte = this.byte()
      length += (byte & 0x7f) * unit
      if (byte < 0x80) break
    }
    this.#at += length
    return this.#bytes.toString('utf8', this.#at - length, this.#at)
  }
}
