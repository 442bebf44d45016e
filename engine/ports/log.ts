// The log is the durable truth. Everything else follows from it and can be rebuilt from it.
import type { Micros, Partition } from '../../schemas/ids.ts'

/** Device messages of one partition that are transferred and stored together. */
export interface Bundle {
  readonly partition: Partition
  readonly body: Uint8Array
}

/** A stored bundle. `seq` is at least 1 and grows within its partition, not always by one. An empty entry says that the
 *  partition has no further messages up to its seq. */
export interface Entry extends Bundle {
  readonly seq: number
}

/** The failure that an acknowledged append survives: a power cut, or the death of any one process. */
export type Durability = 'power' | 'process'

/** One seq per partition, up to which something is done; 0 means nothing is done. */
export type Positions = readonly number[]

export interface Log {
  /** Appends all bundles or none, at most one per partition. Resolves with the seq of each bundle once they would survive
   *  what the durability setting promises (R1). Rejects with a `Fault` if none of them was or will be appended; if it is
   *  retryable, the same bundles may be appended again. While the outcome is unknown, the call stays pending. A caller may
   *  have only one append pending. Bodies are not copied, so the caller must not change them afterwards. `latestAt` is the
   *  newest receive time in the bundles and is stored with them. */
  append(bundles: readonly Bundle[], latestAt: Micros): Promise<readonly number[]>
  /** Reads the entries of these partitions after `from`: first stored entries, then live ones, each partition in order. */
  reader(partitions: readonly Partition[], from: Positions): LogReader
  /** The last durable seq of each partition as far as this process knows: entries of other processes count once it has
   *  heard of them, and entries that existed when the log was opened count immediately. A reader always reaches the end,
   *  if necessary by an empty entry. */
  ends(): Positions
  /** The ends as they are now: every append acknowledged to any process before the call lies at or before them. Rejects
   *  with a `Fault` while they cannot be determined. */
  readEnds(): Promise<Positions>
  /** The greatest `latestAt` ever appended, 0 if none. A restarted ingress only hands out later times. */
  latestAt(): Micros
  /** What is stored now. Rejects with a `Fault` while it cannot be determined. */
  size(): Promise<LogSize>
  /** Allows entries at or below `upTo` to be removed once they are older than the retention: they are settled
   *  everywhere. */
  trim(upTo: Positions): Promise<void>
  close(): Promise<void>
}

export interface LogSize {
  readonly bytes: number
  /** A log of this size accepts nothing until settled entries are removed. */
  readonly bytesMax: number
  /** Receive time of the oldest stored entry; undefined if there is none. */
  readonly oldestAt: Micros | undefined
}

export interface LogReader {
  /** Waits for at least one entry and returns up to about `bytesMax` bytes of entries; undefined once closed. A pull that
   *  began before the reader had caught up may return no entries, which means that it has caught up now. */
  pull(bytesMax: number): Promise<readonly Entry[] | undefined>
  /** False while there are entries to read, or while that is unknown. */
  isCaughtUp(): boolean
  close(): void
}
