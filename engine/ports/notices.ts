// The queue from the shards to the leader. What a shard decides and the leader must act on is written in the same save as
// the decision, so that neither is there without the other.

export interface Notice {
  /** Unique, and the same whenever the same decision is saved again. Notices are read in the order of their keys. */
  readonly key: string
  /** The writer chooses the format. The store does not read it. */
  readonly bytes: Uint8Array
}

export interface NoticeCounts {
  readonly waiting: number
  /** Notices refused since the start because the queue was full. */
  readonly dropped: number
}

export interface Notices {
  /** The first notices in order, at most `max`. */
  notices(max: number): Promise<readonly Notice[]>
  /** Answered from memory. */
  noticeCounts(): NoticeCounts
}
