// The log: the durable truth. Everything else follows from it and can be rebuilt from it.
import type { Micros, Partition } from '../../schemas/ids.ts'

/** Device messages of one partition that travel and are stored together. */
export interface Bundle {
  readonly partition: Partition
  readonly body: Uint8Array
}

/** A stored bundle. `seq` counts from 1 within its partition, without gaps. */
export interface Entry extends Bundle {
  readonly seq: number
}

/** One number per partition: the seq up to which something is done; 0 is nothing. */
export type Positions = readonly number[]

export interface Log {
  /** All or nothing, in order. Resolves with each bundle's seq once they would survive what the durability
   *  setting promises (R1). Rejects with a retryable `Fault` when they would not; the same bundles may be
   *  appended again then. A caller has at most one append under way. Bodies are not copied: hands off after.
   *  `latestAt` is the newest receive time among the bundles; it is stored with them. */
  append(bundles: readonly Bundle[], latestAt: Micros): Promise<readonly number[]>
  /** Reads the entries of these partitions after `from`, each partition in order, old ones first, then live. */
  reader(partitions: readonly Partition[], from: Positions): LogReader
  /** The last durable seq of each partition. */
  ends(): Positions
  /** The greatest `latestAt` ever appended, 0 if none: a restarted ingress hands out later times only. */
  latestAt(): Micros
  /** Entries at or below `upTo` are settled everywhere and may go once older than the retention. */
  trim(upTo: Positions): Promise<void>
  close(): Promise<void>
}

export interface LogReader {
  /** At least one entry, at most about `bytesMax` of them; waits for one. `undefined` once closed. */
  pull(bytesMax: number): Promise<readonly Entry[] | undefined>
  /** False while a pull would find something at once. */
  isCaughtUp(): boolean
  close(): void
}
