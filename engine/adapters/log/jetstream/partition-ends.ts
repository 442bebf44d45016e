// The end of each partition, as far as this process knows it.
//
// D1. Up to `knownUpTo`, no partition has an entry beyond its end. An end that is not known exactly is too high,
//     never too low.
// - A look at the stream counts for the time at which it was requested, not when its answer arrived.
import { LIMITS } from '../../../limits.ts'
import type { Positions } from '../../../ports/log.ts'

export class PartitionEnds {
  #ends: readonly number[]
  #knownUpTo: number
  #lastSeq: number
  #requestedAt = Number.NEGATIVE_INFINITY

  /** The messages in the stream at this point may belong to any partition. */
  constructor(lastSeq: number) {
    this.#ends = new Array<number>(LIMITS.partitions).fill(lastSeq)
    this.#knownUpTo = lastSeq
    this.#lastSeq = lastSeq
  }

  /** Replaced by a new array whenever it changes. */
  get all(): Positions {
    return this.#ends
  }

  get lastSeq(): number {
    return this.#lastSeq
  }

  get knownUpTo(): number {
    return this.#knownUpTo
  }

  of(partition: number): number {
    return this.#ends[partition] ?? 0
  }

  /** The stream ended at `lastSeq` when it was asked, at `askedAt` in `performance.now` time. */
  noteStreamEnd(lastSeq: number, requestedAt: number): void {
    this.#lastSeq = Math.max(this.#lastSeq, lastSeq)
    this.#requestedAt = Math.max(this.#requestedAt, requestedAt)
  }

  isTrusted(): boolean {
    return performance.now() - this.#requestedAt <= LIMITS.logLookTrustedMs
  }

  /** The message `seq` is in the stream and has entries of these partitions. */
  noteMessage(seq: number, partitions: readonly number[]): void {
    this.#lastSeq = Math.max(this.#lastSeq, seq)
    if (seq === this.#knownUpTo + 1) this.#knownUpTo = seq
    if (!partitions.some((p) => this.of(p) < seq)) return
    const ends = [...this.#ends]
    for (const p of partitions) ends[p] = Math.max(this.of(p), seq)
    this.#ends = ends
  }

  /** A reader of the partition is at `seq`. The end moves there, unless an entry beyond the reader is known (D1). */
  raise(partition: number, seq: number): void {
    if (seq > this.of(partition)) this.#ends = this.#ends.with(partition, seq)
  }

  /** A reader that starts beyond `knownUpTo` will not report what lies in between. */
  skipTo(seq: number): void {
    if (seq <= this.#knownUpTo) return
    this.#ends = this.#ends.map((end) => Math.max(end, seq))
    this.#knownUpTo = seq
    this.#lastSeq = Math.max(this.#lastSeq, seq)
  }

  /** The position up to which everything is settled, given the settled positions of all partitions. */
  settledUpTo(settled: Positions): number {
    return this.#ends.reduce(
      (upTo, end, p) => (end > (settled[p] ?? 0) ? Math.min(upTo, settled[p] ?? 0) : upTo),
      this.#knownUpTo,
    )
  }
}
