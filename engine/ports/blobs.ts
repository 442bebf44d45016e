// Files that are too large for the store, such as firmware images. A blob is there whole or not at all, and is replaced
// as a whole. Keys are words of letters, digits, `.`, `_` and `-` with `/` between them.
//
// Every method rejects with a `BLOBS_UNAVAILABLE` fault when the place does not do what it was asked: whether it will
// have done so is then not known.
import type { Readable } from 'node:stream'

export interface BlobFacts {
  readonly key: string
  readonly bytes: number
}

export type PutBlob =
  | { readonly kind: 'put'; readonly bytes: number; readonly sha256: string }
  | { readonly kind: 'too_large' }

export interface BlobPage {
  readonly prefix: string
  /** Keys that come after this one, in the order of their characters. */
  readonly after?: string | undefined
  /** Lists at most `LIMITS.blobsListedMax` blobs. */
  readonly limit: number
}

export interface Blobs {
  /** Durable when resolved. If the content fails or is larger, what was there stays; the content's error is passed on. */
  put(key: string, content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<PutBlob>
  /** Resolves with undefined if there is no such blob. */
  head(key: string): Promise<BlobFacts | undefined>
  /** A range is [from, to), not empty, and within the blob. Resolves with undefined if there is no such blob. A caller that
   *  does not read to the end destroys the stream. */
  get(key: string, range?: { readonly from: number; readonly to: number }): Promise<Readable | undefined>
  /** Does nothing if there is no such blob. */
  delete(key: string): Promise<void>
  list(page: BlobPage): Promise<readonly BlobFacts[]>
}
