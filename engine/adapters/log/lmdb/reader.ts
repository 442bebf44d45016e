// Reads the commits of a log from a position to the live end, without gaps and without repeats.
//
// - A partition may have its end beyond its last entry, because the log lost entries that the store has seen. Once the
//   reader has read what was stored when it began, such a partition gets an empty entry at its end. Without it, the
//   partition would count as unread, and so the log could not be trimmed, until one of its devices sends again.
import type { Partition } from '../../../../schemas/ids.ts'
import type { Entry, LogReader, Positions } from '../../../ports/log.ts'
import type { Commit } from './commit.ts'
import { type Commits, findStart } from './commits.ts'

/** Commits that are skipped at a time while looking for an entry of this reader's partitions. */
const SKIPPED_MAX = 256

export interface ReaderOptions {
  readonly partitions: readonly Partition[]
  readonly from: Positions
  /** The ends of the partitions when the reader begins. */
  readonly ends: Positions
  /** Lets other work run while many foreign entries are skipped. */
  readonly yieldTurn: () => Promise<void>
  readonly onClose: (reader: CommitReader) => void
}

export class CommitReader implements LogReader {
  readonly #commits: Commits
  readonly #options: ReaderOptions
  readonly #wanted: readonly boolean[]
  /** The position of each partition up to which entries were handed out. */
  readonly #reached: number[]
  /** The last commit when the reader began. Undefined once it and the empty entries after it were handed out. */
  #lastAtBegin: number | undefined
  /** The next entry is `#index` of commit `#number`. `#commit` is that commit once it has been fetched. */
  #number: number
  #index = 0
  #commit: Commit | undefined
  #wake: (() => void) | undefined
  #isClosed = false

  constructor(commits: Commits, options: ReaderOptions) {
    this.#commits = commits
    this.#options = options
    const wanted: boolean[] = []
    for (const p of options.partitions) wanted[p] = true
    this.#wanted = wanted
    this.#reached = [...options.from]
    this.#lastAtBegin = commits.last
    this.#number = findStart(commits, options.partitions, options.from)
  }

  async pull(bytesMax: number): Promise<readonly Entry[] | undefined> {
    while (!this.#isClosed) {
      const entries = this.#collect(bytesMax)
      if (entries.length > 0) return entries
      const empty = this.#takeEmptyEntries()
      if (empty.length > 0) return empty
      if (this.#number <= this.#commits.last) await this.#options.yieldTurn()
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
    return undefined
  }

  isCaughtUp(): boolean {
    return this.#next(Number.POSITIVE_INFINITY) === undefined && this.#emptyEntries().length === 0
  }

  /** Called when there is a new commit. */
  wake(): void {
    this.#wake?.()
    this.#wake = undefined
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#commit = undefined
    this.wake()
    this.#options.onClose(this)
  }

  #collect(bytesMax: number): Entry[] {
    const collected: Entry[] = []
    let bytes = 0
    for (;;) {
      const entry = this.#next(SKIPPED_MAX)
      if (entry === undefined) return collected
      bytes += entry.body.length
      if (bytes > bytesMax && collected.length > 0) return collected
      collected.push(entry)
      this.#reached[entry.partition] = entry.seq
      this.#index++
    }
  }

  #takeEmptyEntries(): readonly Entry[] {
    if (this.#lastAtBegin === undefined || this.#number <= this.#lastAtBegin) return []
    const empty = this.#emptyEntries()
    this.#lastAtBegin = undefined
    return empty
  }

  /** The last commit that may be read now: empty entries go before later commits. */
  #readableUpTo(): number {
    if (this.#lastAtBegin === undefined) return this.#commits.last
    if (this.#number <= this.#lastAtBegin || this.#emptyEntries().length > 0) return this.#lastAtBegin
    this.#lastAtBegin = undefined
    return this.#commits.last
  }

  /** The empty entries that are still to be handed out. */
  #emptyEntries(): readonly Entry[] {
    if (this.#lastAtBegin === undefined) return []
    const { partitions, ends } = this.#options
    return partitions.flatMap((partition) => {
      const seq = ends[partition] ?? 0
      return (this.#reached[partition] ?? 0) < seq ? [{ partition, seq, body: new Uint8Array(0) }] : []
    })
  }

  /** Returns the next entry without consuming it. Undefined at the end, or after `skippedMax` commits. */
  #next(skippedMax: number): Entry | undefined {
    let skipped = 0
    while (this.#number <= this.#readableUpTo() && skipped++ <= skippedMax) {
      const { entries } = this.#fetch()
      for (; this.#index < entries.length; this.#index++) {
        const entry = entries[this.#index]
        if (entry !== undefined && this.#isWanted(entry)) return entry
      }
      this.#commit = undefined
      this.#number++
      this.#index = 0
    }
    return undefined
  }

  #fetch(): Commit {
    if (this.#commit === undefined) {
      // Trimmed entries were settled everywhere, so reading goes on with the oldest one.
      if (this.#number < this.#commits.first) this.#number = this.#commits.first
      this.#commit = this.#commits.commit(this.#number)
    }
    return this.#commit
  }

  #isWanted({ partition, seq }: Entry): boolean {
    return this.#wanted[partition] === true && seq > (this.#options.from[partition] ?? 0)
  }
}
