// The queue from the shards to the leader. A notice is written in the same save as the decision that the leader must act
// on, so that neither exists without the other.

export interface Notice {
  /** Unique, and the same whenever the same decision is saved again. Notices are read in key order. */
  readonly key: string
  /** The content in the writer's own format, which the store does not interpret. */
  readonly bytes: Uint8Array
}

export interface NoticeCounts {
  readonly waiting: number
  /** Notices refused since the start because the queue was full. */
  readonly dropped: number
}

export interface Notices {
  /** The first notices in key order, at most `max`. */
  notices(max: number): Promise<readonly Notice[]>
  /** Answered from memory. */
  noticeCounts(): NoticeCounts
}
