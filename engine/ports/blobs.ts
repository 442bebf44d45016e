// Files that are too large for the store, such as firmware images. A blob is there whole or not at all, and is replaced
// as a whole. Keys are words of letters, digits, `.`, `_` and `-` with `/` between them.
//
// Every method rejects with a `BLOBS_UNAVAILABLE` fault when the place does not do what it was asked: whether it will
// have done so is then not known.
export interface BlobFacts {
  readonly key: string
  readonly bytes: number
}

export type PutBlob =
  | { readonly kind: 'put'; readonly bytes: number; readonly sha256: string }
  | { readonly kind: 'too_large' }
  /** There is no room for it. */
  | { readonly kind: 'full' }

/** A blob, or a part of it, that is read from its beginning to its end. */
export interface OpenBlob {
  /** Size of the whole blob, whatever part is read. */
  readonly bytes: number
  /** Fills the buffer from its start as far as it likes, and resolves with the number of bytes; 0 is the end. One read at
   *  a time. What its reader does not ask for is not read ahead. */
  read(into: Uint8Array): Promise<number>
  /** Must be called once, however far it was read, and not while a read is under way. */
  close(): Promise<void>
}

/** How a blob is described to one who loads it from where it lies. */
export interface BlobAddress {
  readonly seconds: number
  readonly contentType: string
  readonly contentDisposition: string
}

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
  /** A range is [from, to) and not empty. Of a blob that is shorter, what there is can be read; its size tells. Resolves
   *  with undefined if there is no such blob. */
  open(key: string, range?: { readonly from: number; readonly to: number }): Promise<OpenBlob | undefined>
  /** A URL under which anybody can GET the blob for a while, in ranges too. Whether it exists is not checked. Left out
   *  where blobs can only be had from this process. */
  address?(key: string, about: BlobAddress): Promise<string>
  /** Does nothing if there is no such blob. */
  delete(key: string): Promise<void>
  list(page: BlobPage): Promise<readonly BlobFacts[]>
}
