// The embedded log: one LMDB value per append, in files that are removed as a whole when they are settled.
//
// - Entries become visible to readers once they are durable, when `append` resolves (disk-commits D1).
// - A failed append leaves no trace: it uses up no seq, and readers never see it. If its commit reached the disk all
//   the same, the next append replaces it. If the process dies before that, the messages are in the log after the
//   restart although they were never acknowledged, which is allowed.
// - The newest commit is never trimmed, because it preserves the ends and the latest time across a restart.
import { strict as assert } from 'node:assert'
import { dirname } from 'node:path'
import type { Micros, Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Bundle, Durability, Log, LogReader, LogSize, Positions } from '../../../ports/log.ts'
import { type DiskBudget, diskBudget, freeBytes } from '../../data-dir/disk-budget.ts'
import { CommitError } from '../../lmdb/lmdb-env.ts'
import { bytesOnDisk, EMPTY_HEAD, encodeCommit } from './commit.ts'
import { firstKeptCommit, type Retention, sizeOf, storedBytes } from './commits.ts'
import { DiskCommits } from './disk-commits.ts'
import { CommitReader } from './reader.ts'
import { quarantineIfTorn, removeMarker } from './torn-log.ts'

export interface LmdbLogOptions extends Partial<Retention> {
  readonly path: string
  readonly durability: Durability
  readonly tailBytesMax?: number
  readonly segmentBytes?: number
  /** Seqs up to these are in use even if the log does not know them: with durability `process` a power cut can leave
   *  the log behind the store, and an entry whose seq was used before would be taken for processed. */
  readonly notBefore?: Positions
  /** What the store knows to be settled, so that a log that has filled its disk is trimmed at once. */
  readonly settled?: Positions
}

export function openLmdbLog(options: LmdbLogOptions): Log {
  return new LmdbLog(options)
}

class LmdbLog implements Log {
  readonly #options: LmdbLogOptions
  readonly #retention: Retention
  readonly #diskBudget: DiskBudget
  readonly #commits: DiskCommits
  readonly #readers = new Set<CommitReader>()
  #settled: Positions
  #trimRun: Promise<void> | undefined
  #isAppending = false
  #isClosed = false

  constructor(options: LmdbLogOptions) {
    const { path, durability } = options
    this.#options = options
    this.#retention = {
      bytesMax: options.bytesMax ?? LIMITS.logBytesMax,
      retentionMs: options.retentionMs ?? LIMITS.logRetentionMs,
    }
    this.#settled = options.settled ?? EMPTY_HEAD.ends
    this.#diskBudget = diskBudget(dirname(path))
    quarantineIfTorn(path, durability)
    this.#commits = new DiskCommits({
      directory: path,
      durability,
      tailBytesMax: options.tailBytesMax ?? LIMITS.logTailBytesMax,
      segmentBytes: options.segmentBytes ?? this.#diskBudget.segmentBytes,
      reserveBytes: this.#diskBudget.reserveBytes,
    })
    const { newest } = this.#commits
    const { notBefore } = options
    const ends = newest.ends.map((end, p) => Math.max(end, notBefore?.[p] ?? 0))
    this.#commits.newest = { ...newest, ends }
  }

  async append(bundles: readonly Bundle[], latestAt: Micros): Promise<readonly number[]> {
    assert(!this.#isAppending, 'a caller has at most one append under way')
    if (bundles.length === 0) return []
    this.#isAppending = true
    try {
      await this.#makeRoom(bundles)
      const { newest, last } = this.#commits
      const { commit, bytes } = encodeCommit(newest, last + 1, bundles, latestAt)
      await this.#commits.push(commit, bytes)
      for (const reader of this.#readers) reader.wake()
      return commit.entries.map(({ seq }) => seq)
    } catch (error) {
      throw toFault(error)
    } finally {
      this.#isAppending = false
    }
  }

  reader(partitions: readonly Partition[], from: Positions): LogReader {
    const reader = new CommitReader(this.#commits, {
      partitions,
      from,
      ends: this.ends(),
      yieldTurn: () => new Promise((resolve) => setImmediate(resolve)),
      onClose: (closed) => this.#readers.delete(closed),
    })
    this.#readers.add(reader)
    return reader
  }

  ends(): Positions {
    return this.#commits.newest.ends
  }

  async readEnds(): Promise<Positions> {
    return this.ends()
  }

  latestAt(): Micros {
    return this.#commits.newest.latestAt
  }

  async size(): Promise<LogSize> {
    const { bytesBefore } = this.#commits
    return sizeOf(this.#commits, { bytesBefore, bytesMax: this.#retention.bytesMax })
  }

  async trim(upTo: Positions): Promise<void> {
    this.#settled = this.#settled.map((seq, p) => Math.max(seq, upTo[p] ?? 0))
    try {
      await this.#trim(0)
    } catch (error) {
      throw toFault(error)
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const reader of [...this.#readers]) reader.close()
    await this.#trimRun?.catch(() => undefined)
    await this.#commits.close()
    removeMarker(this.#options.path)
  }

  async #makeRoom(bundles: readonly Bundle[]): Promise<void> {
    const size = bundles.reduce((sum, { body }) => sum + body.length, 0)
    const room = bytesOnDisk(size)
    if (this.#excess(room) <= 0) return
    await this.#trim(room)
    if (this.#storedBytes + room <= this.#retention.bytesMax) return
    throw new Fault('LOG_FULL', {
      retryable: true,
      message: 'the log is full of unprocessed messages; check that shards and ClickHouse are working',
    })
  }

  get #storedBytes(): number {
    return storedBytes(this.#commits, this.#commits.bytesBefore)
  }

  /** Bytes that have to go so that `room` more fit into the log and the disk does not get full. */
  #excess(room: number): number {
    const free = freeBytes(dirname(this.#options.path))
    return Math.max(
      this.#storedBytes + room - this.#retention.bytesMax,
      this.#diskBudget.lowBytes + room - free,
    )
  }

  /** Runs one trim at a time. */
  async #trim(room: number): Promise<void> {
    while (this.#trimRun !== undefined) await this.#trimRun.catch(() => undefined)
    this.#trimRun = this.#trimNow(room).finally(() => {
      this.#trimRun = undefined
    })
    await this.#trimRun
  }

  async #trimNow(room: number): Promise<void> {
    const commits = this.#commits
    const { bytesBefore } = commits
    const { retentionMs } = this.#retention
    await commits.removeBefore(
      firstKeptCommit(commits, this.#settled, { bytesBefore, excess: this.#excess(room), retentionMs }),
    )
  }
}

function toFault(error: unknown): unknown {
  if (!(error instanceof CommitError)) return error
  const message = error.isFinal
    ? `the log cannot be written until the service is restarted: ${error.message}`
    : error.message
  const code = error.isFull ? 'LOG_FULL' : 'LOG_UNAVAILABLE'
  return new Fault(code, { retryable: !error.isFinal, message, cause: error })
}
