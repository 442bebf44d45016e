// Hashes of images beside SHA-256, for clients of hawkBit's API.
import { createHash } from 'node:crypto'
import type { ImageHashes } from '../../ports/ota.ts'

export class ImageHashing {
  readonly #sha1 = createHash('sha1')
  readonly #md5 = createHash('md5')

  add(part: Uint8Array): void {
    this.#sha1.update(part)
    this.#md5.update(part)
  }

  /** May be called once. */
  async done(): Promise<ImageHashes> {
    return { sha1: this.#sha1.digest('hex'), md5: this.#md5.digest('hex') }
  }
}

export async function hashesOf(image: AsyncIterable<Uint8Array>): Promise<ImageHashes> {
  const hashing = new ImageHashing()
  for await (const part of image) hashing.add(part)
  return await hashing.done()
}
