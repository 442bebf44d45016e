// The commits of the embedded log: on disk, with the newest ones in memory as well.
//
// D1. A commit is published only when it is durable; readers see published commits alone.
// D2. Numbers are contiguous and the tail always ends with the newest commit, so "in the tail or on disk" is a
//     comparison of numbers: nothing is missed or seen twice at the border.
import type { Key, LmdbEnv } from '../lmdb-env.ts'
import { bytesOnDisk, type Commit, type CommitHead, decodeCommit, decodeHead, EMPTY_HEAD } from './commit.ts'
import type { Commits } from './commits.ts'

export const COMMITS = 'commits'

export class DiskCommits implements Commits {
  readonly #env: LmdbEnv
  readonly #tailBytesMax: number
  readonly #tail: (Commit | undefined)[] = []
  #tailFrom = 0
  #tailBytes = 0
  first = 1
  last = 0
  /** After the newest commit. */
  newest: CommitHead = EMPTY_HEAD
  /** Bytes on disk of the commits before `first`: what was trimmed. */
  bytesBefore = 0

  constructor(env: LmdbEnv, tailBytesMax: number) {
    this.#env = env
    this.#tailBytesMax = tailBytesMax
    const ends = env.ends(COMMITS)
    if (ends === undefined) return
    this.first = numberOf(ends.first)
    this.last = numberOf(ends.last)
    this.newest = this.head(this.last)
    this.bytesBefore =
      decodeHead(this.#peek(this.first)).bytesUpTo - bytesOnDisk(this.#peek(this.first).length)
  }

  head(number: number): CommitHead {
    return this.#inTail(number) ?? decodeHead(this.#peek(number))
  }

  commit(number: number): Commit {
    const kept = this.#inTail(number)
    if (kept !== undefined) return kept
    const bytes = this.#env.read(COMMITS, number)
    if (bytes === undefined) throw new Error(`log commit ${number} is missing`)
    return decodeCommit(number, bytes)
  }

  publish(commit: Commit): void {
    this.last = commit.number
    this.newest = commit
    this.#tail.push(commit)
    this.#tailBytes += commit.size
    while (this.#tailBytes > this.#tailBytesMax && this.#tailFrom < this.#tail.length - 1) {
      this.#tailBytes -= this.#tail[this.#tailFrom]?.size ?? 0
      this.#tail[this.#tailFrom++] = undefined
    }
    if (this.#tailFrom > 1_000 && this.#tailFrom * 2 > this.#tail.length) {
      this.#tail.splice(0, this.#tailFrom)
      this.#tailFrom = 0
    }
  }

  /** The commits before `number` are gone from disk. */
  trimmed(number: number, bytesBefore: number): void {
    this.first = number
    this.bytesBefore = bytesBefore
  }

  /** After a failure: what was promised must still be there. A commit beyond it was never promised to anybody;
   *  the next append takes its number and so replaces it. */
  verify(): void {
    if (this.last < this.first) return
    const found = decodeHead(this.#peek(this.last))
    if (found.bytesUpTo !== this.newest.bytesUpTo) throw new Error('the log lost commits that were durable')
  }

  #inTail(number: number): Commit | undefined {
    return this.#tail[this.#tail.length - 1 - (this.last - number)]
  }

  #peek(number: number): Uint8Array {
    const bytes = this.#env.peek(COMMITS, number)
    if (bytes === undefined) throw new Error(`log commit ${number} is missing`)
    return bytes
  }
}

function numberOf(key: Key): number {
  if (typeof key !== 'number') throw new Error('not a log file')
  return key
}
