// Numbers names from 0 in order of appearance, and keeps their bytes as in a String column of ClickHouse.
import { Buffer } from 'node:buffer'

export interface DictionarySavepoint {
  readonly size: number
  readonly bytesLength: number
}

export class Dictionary {
  readonly #indexes = new Map<string, number>()
  readonly #names: string[] = []
  readonly #bytes = new StringBytes()

  get size(): number {
    return this.#names.length
  }

  /** The names as String values, in the order of their numbers. */
  get bytes(): Uint8Array {
    return this.#bytes.view
  }

  indexOf(name: string): number {
    const known = this.#indexes.get(name)
    if (known !== undefined) return known
    const index = this.#names.push(name) - 1
    this.#indexes.set(name, index)
    this.#bytes.add(name)
    return index
  }

  savepoint(): DictionarySavepoint {
    return { size: this.size, bytesLength: this.#bytes.length }
  }

  truncate({ size, bytesLength }: DictionarySavepoint): void {
    for (const name of this.#names.splice(size)) this.#indexes.delete(name)
    this.#bytes.truncate(bytesLength)
  }

  clear(): void {
    this.#indexes.clear()
    this.#names.length = 0
    this.#bytes.truncate(0)
  }
}

/** String values in the Native format: for each the length as a varint, then the UTF-8 bytes. */
export class StringBytes {
  #bytes = Buffer.allocUnsafeSlow(4096)
  #length = 0

  get length(): number {
    return this.#length
  }

  get view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  add(text: string): void {
    const needed = this.#length + text.length * 3 + VARINT_BYTES_MAX
    if (needed > this.#bytes.length) this.#grow(needed)
    // Assumes one byte per character for the width of the varint, which is almost always right.
    const width = varintBytes(text.length)
    let written = this.#bytes.write(text, this.#length + width)
    const actual = varintBytes(written)
    if (actual !== width) written = this.#bytes.write(text, this.#length + actual)
    writeVarint(this.#bytes, written, this.#length)
    this.#length += actual + written
  }

  truncate(length: number): void {
    this.#length = length
  }

  #grow(needed: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    grown.set(this.view)
    this.#bytes = grown
  }
}

const VARINT_BYTES_MAX = 5

export function varintBytes(value: number): number {
  let width = 1
  for (let rest = value; rest >= 0x80; rest >>>= 7) width++
  return width
}

/** Returns the index of the next byte. */
export function writeVarint(bytes: Uint8Array, value: number, at: number): number {
  let end = at
  let rest = value
  for (; rest >= 0x80; rest >>>= 7) bytes[end++] = (rest & 0x7f) | 0x80
  bytes[end++] = rest
  return end
}
