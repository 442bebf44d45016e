// Reads values in ClickHouse's RowBinary format one after the other.
export class RowReader {
  readonly #bytes: Buffer
  readonly #view: DataView
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  hasMore(): boolean {
    return this.#at < this.#bytes.length
  }

  byte(): number {
    return this.#view.getUint8(this.#at++)
  }

  /** Reads signed and unsigned integers alike: stored values are far from both limits. Two halves cost less than a
   *  `bigint` that is thrown away. */
  int64(): number {
    this.#at += 8
    return this.#view.getUint32(this.#at - 8, true) + this.#view.getInt32(this.#at - 4, true) * 2 ** 32
  }

  float64(): number {
    this.#at += 8
    return this.#view.getFloat64(this.#at - 8, true)
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
