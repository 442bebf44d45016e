// Reads the commits of a log from a position to the live end, without gaps and without repeats.
import type { Partition } from '../../../../schemas/ids.ts'
import type { Entry, LogReader, Positions } from '../../../ports/log.ts'
import type { Commit } from './commit.ts'
import { type Commits, findStart } from './commits.ts'

/** Commits that are skipped at a time while looking for an entry of this reader's partitions. */
const SKIPPED_MAX = 256

export interface ReaderOptions {
  readonly partitions: readonly Partition[]
  readonly from: Positions
  /** Lets other work run while many foreign entries are skipped. */
  readonly yieldTurn: () => Promise<void>
  readonly onClose: (reader: CommitReader) => void
}

export class CommitReader implements LogReader {
  readonly #commits: Commits
  readonly #options: ReaderOptions
  readonly #wanted: readonly boolean[]
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
    this.#number = findStart(commits, options.partitions, options.from)
  }

  async pull(bytesMax: number): Promise<readonly Entry[] | undefined> {
    while (!this.#isClosed) {
      const entries = this.#collect(bytesMax)
      if (entries.length > 0) return entries
      if (this.#number <= this.#commits.last) await this.#options.yieldTurn()
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
    }
    return undefined
  }

  isCaughtUp(): boolean {
    return this.#next(Number.POSITIVE_INFINITY) === undefined
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
      this.#index++
    }
  }

  /** Returns the next entry without consuming it. Undefined at the end, or after `skippedMax` commits. */
  #next(skippedMax: number): Entry | undefined {
    let skipped = 0
    while (this.#number <= this.#commits.last && skipped++ <= skippedMax) {
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
