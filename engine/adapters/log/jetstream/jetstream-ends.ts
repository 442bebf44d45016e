// How far the log goes, as far as it is known here.
//
// D1. Up to `knownUpTo`, no partition has an entry beyond its end. Ends that are not known exactly lie too far, never
//     too near.
// D2. A look says how far the stream went when it was asked for, not when its answer was read.
import { LIMITS } from '../../../limits.ts'
import type { Positions } from '../../../ports/log.ts'

export class LogEnds {
  #ends: readonly number[]
  #knownUpTo: number
  #lastSeq: number
  #askedAt = Number.NEGATIVE_INFINITY

  /** What is in the stream by now may be of any partition. */
  constructor(lastSeq: number) {
    this.#ends = new Array<number>(LIMITS.partitions).fill(lastSeq)
    this.#knownUpTo = lastSeq
    this.#lastSeq = lastSeq
  }

  /** A new array whenever it changes. */
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

  /** The stream went to here when it was asked, in `performance.now`. */
  looked(lastSeq: number, askedAt: number): void {
    this.#lastSeq = Math.max(this.#lastSeq, lastSeq)
    this.#askedAt = Math.max(this.#askedAt, askedAt)
  }

  isTrusted(): boolean {
    return performance.now() - this.#askedAt <= LIMITS.logLookTrustedMs
  }

  /** This message has entries of these partitions, and is in the stream. */
  learn(seq: number, partitions: readonly number[]): void {
    this.#lastSeq = Math.max(this.#lastSeq, seq)
    if (seq === this.#knownUpTo + 1) this.#knownUpTo = seq
    if (!partitions.some((p) => this.of(p) < seq)) return
    const ends = [...this.#ends]
    for (const p of partitions) ends[p] = Math.max(this.of(p), seq)
    this.#ends = ends
  }

  /** The partition has nothing between its end and here. */
  raise(partition: number, seq: number): void {
    this.#ends = this.#ends.with(partition, seq)
  }

  /** A reader that begins behind what is known here will not tell what lies between. */
  skipTo(seq: number): void {
    if (seq <= this.#knownUpTo) return
    this.#ends = this.#ends.map((end) => Math.max(end, seq))
    this.#knownUpTo = seq
    this.#lastSeq = Math.max(this.#lastSeq, seq)
  }

  /** Everything up to here is settled, given that this is. */
  settledUpTo(settled: Positions): number {
    return this.#ends.reduce(
      (upTo, end, p) => (end > (settled[p] ?? 0) ? Math.min(upTo, settled[p] ?? 0) : upTo),
      this.#knownUpTo,
    )
  }
}
