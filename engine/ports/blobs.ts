// Files that are too large for the store, such as firmware images. A blob is there whole or not at all, and is replaced
// as a whole. Keys are words of letters, digits, `.`, `_` and `-` with `/` between them.
//
// Every method rejects with a `BLOBS_UNAVAILABLE` fault when the storage does not answer as it should. Whether the call
// took effect is then unknown.
export interface BlobFacts {
  readonly key: string
  readonly bytes: number
}

export type PutBlob =
  | { readonly kind: 'put'; readonly bytes: number; readonly sha256: string }
  | { readonly kind: 'too_large' }
  /** There is no space for the blob. */
  | { readonly kind: 'full' }

/** A blob, or a range of one, opened for reading from beginning to end. */
export interface OpenBlob {
  /** Size of the whole blob, whatever part is read. */
  readonly bytes: number
  /** Fills the buffer from its start, not necessarily to its end, and resolves with the number of bytes; 0 means the end.
   *  Only one read may run at a time. Nothing is read ahead of the reader's calls. */
  read(into: Uint8Array): Promise<number>
  /** Must be called exactly once, whether or not everything was read, and not during a read. */
  close(): Promise<void>
}

/** How a direct link serves a blob: how long it works, and the headers of the response. */
export interface BlobAddress {
  readonly seconds: number
  readonly contentType: string
  readonly contentDisposition: string
}

export interface BlobPage {
  readonly prefix: string
  /** Only keys that sort after this one, compared character by character. */
  readonly after?: string | undefined
  /** Lists at most `LIMITS.blobsListedMax` blobs. */
  readonly limit: number
}

export interface UnfinishedUploads {
  readonly prefix: string
  readonly isMeant: (key: string) => boolean
}

export interface Blobs {
  /** Durable when resolved. If the content fails or exceeds `bytesMax`, an existing blob stays; an error of the content is
   *  rethrown. */
  put(key: string, content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<PutBlob>
  /** Resolves with undefined if there is no such blob. */
  head(key: string): Promise<BlobFacts | undefined>
  /** A range is [from, to) and not empty. If the blob is shorter, the existing part can be read, and `bytes` tells.
   *  Resolves with undefined if there is no such blob. */
  open(key: string, range?: { readonly from: number; readonly to: number }): Promise<OpenBlob | undefined>
  /** A URL from which anybody can GET the blob for a while, ranges included. Whether the blob exists is not checked.
   *  Missing if blobs can only be read through this process. */
  address?(key: string, about: BlobAddress): Promise<string>
  /** Does nothing if there is no such blob. */
  delete(key: string): Promise<void>
  list(page: BlobPage): Promise<readonly BlobFacts[]>
  /** Removes what is stored of uploads that did not end, because their process did, if their keys are meant. It is neither
   *  listed nor deleted otherwise. Missing if nothing stays of an upload that did not end. */
  dropUnfinished?(uploads: UnfinishedUploads): Promise<void>
}
