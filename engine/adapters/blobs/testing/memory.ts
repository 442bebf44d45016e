// Blobs in memory, for tests.
import { LIMITS } from '../../../limits.ts'
import type { BlobFacts, BlobPage, Blobs, OpenBlob, PutBlob } from '../../../ports/blobs.ts'
import { checkedKey, Meter, TooLargeError } from '../content.ts'

export class MemoryBlobs implements Blobs {
  readonly #blobs = new Map<string, Buffer>()
  /** Set by tests in which others can load blobs. */
  address?: NonNullable<Blobs['address']>
  /** Set by tests in which something is left of uploads that did not end. */
  dropUnfinished?: NonNullable<Blobs['dropUnfinished']>

  async put(key: string, content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<PutBlob> {
    checkedKey(key)
    const meter = new Meter()
    const chunks: Uint8Array[] = []
    try {
      for await (const chunk of meter.read(content, bytesMax)) chunks.push(chunk)
    } catch (error) {
      if (error instanceof TooLargeError) return { kind: 'too_large' }
      throw error
    }
    this.#blobs.set(key, Buffer.concat(chunks))
    return meter.result()
  }

  async head(key: string): Promise<BlobFacts | undefined> {
    const blob = this.#blobs.get(checkedKey(key))
    return blob && { key, bytes: blob.length }
  }

  async open(
    key: string,
    range?: { readonly from: number; readonly to: number },
  ): Promise<OpenBlob | undefined> {
    const blob = this.#blobs.get(checkedKey(key))
    if (blob === undefined) return undefined
    let left = blob.subarray(range?.from, range?.to)
    return {
      bytes: blob.length,
      async read(into) {
        const bytes = left.copy(into)
        left = left.subarray(bytes)
        return bytes
      },
      close: async () => {},
    }
  }

  async delete(key: string): Promise<void> {
    this.#blobs.delete(checkedKey(key))
  }

  async list({ prefix, after = '', limit }: BlobPage): Promise<readonly BlobFacts[]> {
    return [...this.#blobs]
      .map(([key, { length: bytes }]) => ({ key, bytes }))
      .filter(({ key }) => key.startsWith(prefix) && key > after)
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .slice(0, Math.min(limit, LIMITS.blobsListedMax))
  }
}
