// For tests and simulations: a log in memory without timers and randomness. All its promises settle within microtasks.
import { strict as assert } from 'node:assert'
import type { Micros, Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Bundle, Log, LogReader, LogSize, Positions } from '../../../ports/log.ts'
import { bytesOnDisk, type Commit, type CommitHead, EMPTY_HEAD, encodeCommit } from '../lmdb/commit.ts'
import { type Commits, firstKeptCommit, type Retention, sizeOf, storedBytes } from '../lmdb/commits.ts'
import { CommitReader } from '../lmdb/reader.ts'

/** The data that would be on disk. */
class Durable implements Commits {
  readonly #commits: Commit[] = []
  newest: CommitHead = EMPTY_HEAD
  bytesBefore = 0
  first = 1
  get last(): number {
    return this.first + this.#commits.length - 1
  }

  head(number: number): CommitHead {
    return this.commit(number)
  }

  commit(number: number): Commit {
    const commit = this.#commits[number - this.first]
    if (commit === undefined) throw new Error(`log commit ${number} is missing`)
    return commit
  }

  push(commit: Commit): void {
    this.#commits.push(commit)
    this.newest = commit
  }

  trimTo(number: number): void {
    if (number > this.first) this.bytesBefore = this.head(number - 1).bytesUpTo
    this.#commits.splice(0, number - this.first)
    this.first = number
  }
}

export class MemoryLog implements Log {
  readonly #retention: Retention
  readonly #durable: Durable
  readonly #readers = new Set<CommitReader>()
  #settled: Positions = EMPTY_HEAD.ends
  #isAppending = false
  #isDead = false

  constructor(retention: Partial<Retention> = {}, durable = new Durable()) {
    this.#retention = { bytesMax: LIMITS.logBytesMax, retentionMs: LIMITS.logRetentionMs, ...retention }
    this.#durable = durable
  }

  /** Simulates a crash: this log stops working, and the returned one has all that was durable. */
  crash(): MemoryLog {
    this.#end()
    return new MemoryLog(this.#retention, this.#durable)
  }

  async append(bundles: readonly Bundle[], latestAt: Micros): Promise<readonly number[]> {
    if (this.#isDead) return never()
    assert(!this.#isAppending, 'a caller has at most one append under way')
    const partitions = new Set(bundles.map(({ partition }) => partition))
    assert(partitions.size === bundles.length, 'an append has one bundle of a partition at most')
    if (bundles.length === 0) return []
    this.#makeRoom(bundles)
    const { commit } = encodeCommit(this.#durable.newest, this.#durable.last + 1, bundles, latestAt)
    this.#durable.push(commit)
    this.#isAppending = true
    await Promise.resolve()
    this.#isAppending = false
    if (this.#isDead) return never()
    for (const reader of this.#readers) reader.wake()
    return commit.entries.map(({ seq }) => seq)
  }

  reader(partitions: readonly Partition[], from: Positions): LogReader {
    const reader = new CommitReader(this.#durable, {
      partitions,
      from,
      ends: this.ends(),
      yieldTurn: () => Promise.resolve(),
      onClose: (closed) => this.#readers.delete(closed),
    })
    this.#readers.add(reader)
    return reader
  }

  ends(): Positions {
    return this.#durable.newest.ends
  }

  async readEnds(): Promise<Positions> {
    return this.ends()
  }

  latestAt(): Micros {
    return this.#durable.newest.latestAt
  }

  async size(): Promise<LogSize> {
    const { bytesBefore } = this.#durable
    return sizeOf(this.#durable, { bytesBefore, bytesMax: this.#retention.bytesMax })
  }

  async trim(upTo: Positions): Promise<void> {
    if (this.#isDead) return never()
    this.#settled = this.#settled.map((seq, p) => Math.max(seq, upTo[p] ?? 0))
    this.#trim(0)
  }

  async close(): Promise<void> {
    this.#end()
  }

  #end(): void {
    this.#isDead = true
    for (const reader of [...this.#readers]) reader.close()
  }

  #trim(room: number): void {
    const durable = this.#durable
    const { bytesBefore } = durable
    const { bytesMax, retentionMs } = this.#retention
    const excess = storedBytes(durable, bytesBefore) + room - bytesMax
    durable.trimTo(firstKeptCommit(durable, this.#settled, { bytesBefore, excess, retentionMs }))
  }

  #makeRoom(bundles: readonly Bundle[]): void {
    const size = bundles.reduce((sum, { body }) => sum + body.length, 0)
    const room = bytesOnDisk(size)
    if (this.#hasRoom(room)) return
    this.#trim(room)
    if (!this.#hasRoom(room)) throw new Fault('LOG_FULL', { retryable: true, message: 'the log is full' })
  }

  #hasRoom(room: number): boolean {
    return storedBytes(this.#durable, this.#durable.bytesBefore) + room <= this.#retention.bytesMax
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}
