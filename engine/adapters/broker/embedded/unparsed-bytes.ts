// Holds bytes that have been read but not parsed: the start of an incomplete packet, or packets that have to wait.
import { Buffer } from 'node:buffer'

const EMPTY = Buffer.alloc(0)
const SIZE_START = 4 * 1024

export class UnparsedBytes {
  #bytes: Buffer = EMPTY
  #length = 0
  #needed = 0

  get isEmpty(): boolean {
    return this.#length === 0
  }

  /** True once there are as many bytes as the packet claims to need. */
  get isWorthParsing(): boolean {
    return this.#length >= this.#needed
  }

  /** `needed`: the claimed size of the first packet, if known. Memory grows with the bytes received, not with the claim. */
  keep(bytes: Buffer, needed: number): void {
    this.#needed = needed
    this.add(bytes)
  }

  add(bytes: Buffer): void {
    const size = this.#length + bytes.length
    if (size > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(
        Math.max(size, Math.min(SIZE_START, this.#needed), this.#bytes.length * 2),
      )
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    bytes.copy(this.#bytes, this.#length)
    this.#length = size
  }

  /** Returns all bytes and becomes empty. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length)
    this.clear()
    return taken
  }

  clear(): void {
    this.#bytes = EMPTY
    this.#length = 0
    this.#needed = 0
  }
}
