// The files of the log. Each holds the commits from the number in its name up to the next file's number.
//
// - A file is only appended to, and removed as a whole: LMDB's reuse of pages is known to break when a table is used
//   as a queue, and removing a file frees its space at once.
// - The name of the next file ends a file. A commit beyond that was never acknowledged and is ignored.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Durability } from '../../../ports/log.ts'
import { LmdbEnv } from '../../lmdb/lmdb-env.ts'

export const COMMITS = 'commits'

interface Segment {
  readonly first: number
  readonly path: string
  env: LmdbEnv | undefined
}

export interface SegmentsOptions {
  readonly directory: string
  readonly durability: Durability
  readonly reserveBytes: number
  /** Called after a file was reopened following a failed write. */
  readonly onReopened: () => void
}

export class Segments {
  readonly #options: SegmentsOptions
  readonly #segments: Segment[]
  /** Files that are not needed any more and not removed yet. */
  readonly #leaving: Segment[] = []
  #removing: Promise<void> = Promise.resolve()

  constructor(options: SegmentsOptions) {
    this.#options = options
    mkdirSync(options.directory, { recursive: true, mode: 0o700 })
    const firsts = readdirSync(options.directory).flatMap((name) => {
      const digits = /^(\d{16})\.mdb$/.exec(name)?.[1]
      return digits === undefined ? [] : [Number(digits)]
    })
    this.#segments = firsts.sort((a, b) => a - b).map((first) => this.#segment(first))
    if (firsts.length === 0) this.roll(1)
  }

  /** Number of the oldest stored commit. */
  get first(): number {
    return this.#segments[0]?.first ?? 1
  }

  /** The file that the next commit goes to. */
  get newest(): LmdbEnv {
    return this.#open(this.#segments.at(-1))
  }

  get newestFirst(): number {
    return this.#segments.at(-1)?.first ?? 1
  }

  /** Number of the last commit, or 0 if there is none. */
  findLast(): number {
    const last = this.newest.keyRange(COMMITS)?.last
    return typeof last === 'number' ? last : this.newestFirst - 1
  }

  /** The file that holds a commit. */
  envOf(number: number): LmdbEnv {
    return this.#open(this.#segments.findLast(({ first }) => first <= number))
  }

  /** Starts a new file for the commits from `first` on. */
  roll(first: number): void {
    this.#segments.push(this.#segment(first))
    this.#open(this.#segments.at(-1))
  }

  /** First number of the oldest file needed to keep all commits from `number` on. */
  boundary(number: number): number {
    return this.#segments.findLast(({ first }) => first <= number)?.first ?? this.first
  }

  async removeBefore(boundary: number): Promise<void> {
    const kept = this.#segments.findIndex(({ first }) => first >= boundary)
    this.#leaving.push(...this.#segments.splice(0, kept))
    this.#removing = this.#removing.catch(() => undefined).then(() => this.#removeFiles())
    await this.#removing
  }

  /** Oldest first, so that no file is missing between two others. One that cannot be removed is tried again later. */
  async #removeFiles(): Promise<void> {
    for (let file = this.#leaving[0]; file !== undefined; file = this.#leaving[0]) {
      await file.env?.close()
      file.env = undefined
      rmSync(file.path, { force: true })
      rmSync(`${file.path}-lock`, { force: true })
      this.#leaving.shift()
    }
  }

  async close(): Promise<void> {
    await this.#removing.catch(() => undefined)
    for (const { env } of [...this.#leaving, ...this.#segments]) await env?.close()
  }

  #segment(first: number): Segment {
    const path = join(this.#options.directory, `${`${first}`.padStart(16, '0')}.mdb`)
    return { first, path, env: undefined }
  }

  #open(segment: Segment | undefined): LmdbEnv {
    if (segment === undefined) throw new Error('there is no such file of the log')
    const { durability, reserveBytes, onReopened } = this.#options
    segment.env ??= new LmdbEnv({
      path: segment.path,
      durability,
      tables: [COMMITS],
      reserveBytes,
      onReopened,
    })
    return segment.env
  }
}
