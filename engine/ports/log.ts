// The log: the durable truth. Everything else follows from it and can be rebuilt from it.
import type { Micros, Partition } from '../../schemas/ids.ts'

/** Device messages of one partition that travel and are stored together. */
export interface Bundle {
  readonly partition: Partition
  readonly body: Uint8Array
}

/** A stored bundle. `seq` is at least 1 and grows within its partition, not always by one. An entry may be empty: it
 *  says that its partition has nothing more up to there. */
export interface Entry extends Bundle {
  readonly seq: number
}

/** The failure that a promised append survives: a power cut, or the death of any one process. */
export type Durability = 'power' | 'process'

/** One number per partition: the seq up to which something is done; 0 is nothing. */
export type Positions = readonly number[]

export interface Log {
  /** All or nothing, each partition at most once. Resolves with each bundle's seq once they would survive what the
   *  durability setting promises (R1). Rejects with a `Fault` when nothing of them is there, nor will be; if it is
   *  retryable, the same bundles may be appended again. While that cannot be known, it stays under way. A caller has
   *  at most one append under way. Bodies are not copied: hands off after. `latestAt` is the newest receive time
   *  among the bundles; it is stored with them. */
  append(bundles: readonly Bundle[], latestAt: Micros): Promise<readonly number[]>
  /** Reads the entries of these partitions after `from`, each partition in order, old ones first, then live. */
  reader(partitions: readonly Partition[], from: Positions): LogReader
  /** The last durable seq of each partition. What other processes append counts once it is heard of here; what was
   *  there when the log was opened counts at once. A reader gets to the end, if by an empty entry. */
  ends(): Positions
  /** The ends as they are now: all that any process was promised before the call lies at or before them. Rejects with a
   *  `Fault` while that cannot be known. */
  look(): Promise<Positions>
  /** The greatest `latestAt` ever appended, 0 if none: a restarted ingress hands out later times only. */
  latestAt(): Micros
  /** What is kept now. Rejects with a `Fault` while that cannot be known. */
  size(): Promise<LogSize>
  /** Entries at or below `upTo` are settled everywhere and may go once older than the retention. */
  trim(upTo: Positions): Promise<void>
  close(): Promise<void>
}

export interface LogSize {
  readonly bytes: number
  /** A log of this size takes nothing more until what is settled is removed. */
  readonly bytesMax: number
  /** Receive time of the oldest entry that is kept; undefined if there is none. */
  readonly oldestAt: Micros | undefined
}

export interface LogReader {
  /** Waits for at least one entry and returns at most about `bytesMax` of them; undefined once closed. A pull that began
   *  before the reader had caught up may return none, which says that it has caught up now. */
  pull(bytesMax: number): Promise<readonly Entry[] | undefined>
  /** False while there is something to read, and while that is not known. */
  isCaughtUp(): boolean
  close(): void
}
