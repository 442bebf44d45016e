// The commits of the embedded log, on disk and, for the newest ones, in memory as well.
//
// D1. A commit is published once it is durable. Readers see only published commits.
// - Numbers are contiguous and the tail in memory always ends with the newest commit, so a comparison of numbers
//   decides between tail and disk: nothing is missed or read twice at the border.
import type { Durability } from '../../../ports/log.ts'
import { freeBytes } from '../../data-dir/disk-budget.ts'
import { CommitError } from '../../lmdb/lmdb-env.ts'
import { bytesOnDisk, type Commit, type CommitHead, decodeCommit, decodeHead, EMPTY_HEAD } from './commit.ts'
import type { Commits } from './commits.ts'
import { COMMITS, Segments } from './segments.ts'

export interface DiskCommitsOptions {
  readonly directory: string
  readonly durability: Durability
  readonly tailBytesMax: number
  readonly segmentBytes: number
  /** Free space on the disk that a commit leaves. */
  readonly reserveBytes: number
}

export class DiskCommits implements Commits {
  readonly #options: DiskCommitsOptions
  readonly #segments: Segments
  readonly #tail: (Commit | undefined)[] = []
  #tailFrom = 0
  #tailBytes = 0
  #segmentBytes = 0
  last: number
  /** State of the log after the newest commit. */
  newest: CommitHead = EMPTY_HEAD
  /** Bytes on disk of the trimmed commits, which are those before `first`. */
  bytesBefore = 0

  constructor(options: DiskCommitsOptions) {
    this.#options = options
    this.#segments = new Segments({ ...options, onReopened: () => this.#verify() })
    this.last = this.#segments.findLast()
    if (this.last < this.first) return
    this.newest = this.head(this.last)
    this.bytesBefore = this.#bytesBefore(this.first)
    const { newestFirst } = this.#segments
    if (newestFirst <= this.last) this.#segmentBytes = this.newest.bytesUpTo - this.#bytesBefore(newestFirst)
  }

  get first(): number {
    return this.#segments.first
  }

  head(number: number): CommitHead {
    return this.#inTail(number) ?? decodeHead(this.#peek(number))
  }

  commit(number: number): Commit {
    const recent = this.#inTail(number)
    if (recent !== undefined) return recent
    const bytes = this.#segments.envOf(number).read(COMMITS, number)
    if (bytes === undefined) throw new Error(`log commit ${number} is missing`)
    return decodeCommit(number, bytes)
  }

  /** Resolves when the commit is durable and published. */
  async push(commit: Commit, bytes: Uint8Array): Promise<void> {
    if (this.#segmentBytes >= this.#options.segmentBytes && this.#segments.newestFirst < commit.number) {
      // If LMDB cannot write the beginning of a new file, the system kills the process.
      if (freeBytes(this.#options.directory) < this.#options.reserveBytes)
        throw new CommitError('the disk is full', { isFull: true })
      this.#segments.roll(commit.number)
      this.#segmentBytes = 0
    }
    await this.#segments.newest.write([{ table: COMMITS, key: commit.number, value: bytes }])
    this.#segmentBytes += commit.bytesUpTo - this.newest.bytesUpTo
    this.last = commit.number
    this.newest = commit
    this.#addToTail(commit)
  }

  /** Removes as much as possible while keeping all commits from `number` on. */
  async removeBefore(number: number): Promise<void> {
    const boundary = this.#segments.boundary(number)
    if (boundary <= this.first) return
    this.bytesBefore = this.#bytesBefore(boundary)
    await this.#segments.removeBefore(boundary)
  }

  close(): Promise<void> {
    return this.#segments.close()
  }

  /** Checks after a failure that all acknowledged commits are still there. A commit beyond them was never acknowledged;
   *  the next append takes its number and so replaces it. */
  #verify(): void {
    if (this.last < this.#segments.newestFirst) return
    const stored = decodeHead(this.#peek(this.last))
    if (stored.bytesUpTo !== this.newest.bytesUpTo) throw new Error('the log lost commits that were durable')
  }

  #addToTail(commit: Commit): void {
    this.#tail.push(commit)
    this.#tailBytes += commit.size
    while (this.#tailBytes > this.#options.tailBytesMax && this.#tailFrom < this.#tail.length - 1) {
      this.#tailBytes -= this.#tail[this.#tailFrom]?.size ?? 0
      this.#tail[this.#tailFrom++] = undefined
    }
    if (this.#tailFrom > 1_000 && this.#tailFrom * 2 > this.#tail.length) {
      this.#tail.splice(0, this.#tailFrom)
      this.#tailFrom = 0
    }
  }

  #inTail(number: number): Commit | undefined {
    return this.#tail[this.#tail.length - 1 - (this.last - number)]
  }

  #bytesBefore(number: number): number {
    const bytes = this.#peek(number)
    return decodeHead(bytes).bytesUpTo - bytesOnDisk(bytes.length)
  }

  #peek(number: number): Uint8Array {
    const bytes = this.#segments.envOf(number).peek(COMMITS, number)
    if (bytes === undefined) throw new Error(`log commit ${number} is missing`)
    return bytes
  }
}
