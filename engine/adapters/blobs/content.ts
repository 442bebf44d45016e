// Checks of keys and uploaded content that all adapters share.
import { strict as assert } from 'node:assert'
import { createHash } from 'node:crypto'
import type { PutBlob } from '../../ports/blobs.ts'

const KEY = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/
/** File systems allow little more. */
const KEY_CHARS_MAX = 200

/** Asserts, because keys are made from our own ids. */
export function checkedKey(key: string): string {
  assert(KEY.test(key) && key.length <= KEY_CHARS_MAX, 'the key of a blob is malformed')
  return key
}

export class TooLargeError extends Error {}

/** Passes content on, and counts and hashes it. */
export class Meter {
  readonly #hash = createHash('sha256')
  #bytes = 0

  /** Throws `TooLarge` as soon as there are more than `bytesMax` bytes. */
  async *read(content: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      this.#bytes += chunk.length
      if (this.#bytes > bytesMax) throw new TooLargeError()
      this.#hash.update(chunk)
      yield chunk
    }
  }

  /** May be called once. */
  result(): PutBlob {
    return { kind: 'put', bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }
}
