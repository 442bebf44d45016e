// What all places of blobs do with content on its way in, and with keys.
import { strict as assert } from 'node:assert'
import { createHash } from 'node:crypto'
import type { PutBlob } from '../../ports/blobs.ts'

const KEY = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/
/** A file's name has not many more. */
const KEY_CHARS_MAX = 200

/** Keys come from ids that we make: another one is a mistake of ours. */
export function checkedKey(key: string): string {
  assert(KEY.test(key) && key.length <= KEY_CHARS_MAX, 'a blob has another key')
  return key
}

export class TooLarge extends Error {}

/** Hands on what it reads, and knows afterwards what it was. */
export class Meter {
  readonly #hash = createHash('sha256')
  #bytes = 0

  /** Throws `TooLarge` at the first byte that is too many. */
  async *read(content: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      this.#bytes += chunk.length
      if (this.#bytes > bytesMax) throw new TooLarge()
      this.#hash.update(chunk)
      yield chunk
    }
  }

  /** Once. */
  result(): PutBlob {
    return { kind: 'put', bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }
}
