// Leases for downloads, which all API nodes share: how many readers may download at once, and how many streams each may
// have.
//
// A lease ends after a limited time unless it is renewed, so a dead node does not hold leases for long. A node that could
// not renew a lease in time, because it was paused or cut off, must end the stream: another reader may have taken its
// place. All methods may reject with a `STORE_UNAVAILABLE` fault.

export interface DownloadLease {
  /** Identifies the downloader. All streams of one reader count as one download. */
  readonly reader: string
  /** Unique among all streams of all nodes. */
  readonly stream: string
}

export interface DownloadLeases {
  /** The minimum time for which a lease is held after it was taken or last renewed. */
  readonly heldMs: number
  /** `reader`: this reader already has enough streams. `busy`: the maximum number of other readers are downloading. */
  acquire(lease: DownloadLease): Promise<'taken' | 'reader' | 'busy'>
  /** Renews the leases and resolves, in their order, with whether each is still held. One that is not is lost for good. */
  renew(leases: readonly DownloadLease[]): Promise<readonly boolean[]>
  release(lease: DownloadLease): Promise<void>
}

export interface DownloadLeaseLimits {
  readonly readersMax: number
  readonly streamsPerReaderMax: number
  readonly heldMs: number
}
