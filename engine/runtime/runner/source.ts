// Where a shard's entries come from. Normally one reader feeds records and rows together. When ClickHouse cannot
// keep up, records go on without rows, and a second reader fetches the rows from the log later, until it has
// caught up and takes over. Entries of partitions that come later have a reader of their own in the same way: those that
// are there already are read on meanwhile, whatever there is to read of the others.

import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Entry, Log, LogReader, Positions } from '../../ports/log.ts'

interface IntakePorts {
  /** How much the next batch may hold. */
  readonly bytesMax: () => number
  /** The seqs of these partitions' ends, added up. */
  readonly end: () => number
  readonly poke: () => void
  readonly failed: (error: unknown) => void
}

/** One reader with at most one pull under way. */
class Intake {
  readonly reader: LogReader
  readonly #means: IntakePorts
  #pulled: readonly Entry[] | undefined
  #isPulling = false
  /** The log's end when a pull began that found nothing at once; -1 while there is no such pull. */
  #idleAt = -1

  constructor(reader: LogReader, means: IntakePorts) {
    this.reader = reader
    this.#means = means
  }

  /** The entries at hand; asks for more when there are none. */
  peek(): readonly Entry[] | undefined {
    if (this.#pulled === undefined && !this.#isPulling) this.#pull()
    return this.#pulled
  }

  take(): readonly Entry[] {
    const entries = this.#pulled ?? []
    this.#pulled = undefined
    return entries
  }

  /** True if no entry is at hand, to be had at once, or on its way: what a pull has found is ours only some
   *  steps later, when the reader already looks caught up. */
  isCaughtUp(): boolean {
    if (this.#pulled !== undefined || !this.reader.isCaughtUp()) return false
    return !this.#isPulling || this.#idleAt === this.#means.end()
  }

  #pull(): void {
    this.#isPulling = true
    this.#idleAt = this.reader.isCaughtUp() ? this.#means.end() : -1
    const done = (entries: readonly Entry[] | undefined) => {
      this.#isPulling = false
      this.#pulled = entries?.length === 0 ? undefined : entries
      if (entries !== undefined) this.#means.poke()
    }
    this.reader.pull(this.#means.bytesMax()).then(done, (error: unknown) => {
      // A reader that cannot read now is asked again with the next look.
      done(undefined)
      this.#means.failed(error)
    })
  }
}

export interface Portion {
  readonly entries: readonly Entry[]
  readonly rows: boolean
}

export class Source {
  readonly #log: Log
  readonly #means: Pick<IntakePorts, 'poke' | 'failed'>
  /** Those of the main reader. */
  #partitions: readonly Partition[]
  #main: Intake
  /** Partitions that the main reader does not read yet. */
  #late: readonly Partition[] = []
  #joining: Intake | undefined
  #isJoiningTurn = false
  /** How far entries were handed out. */
  readonly #reached: number[]
  #rows: 'on' | 'off' | 'catching' = 'on'
  #catchUp: Intake | undefined
  #isCatchUpTurn = false
  #bytesMax: number = LIMITS.batchBytesMax

  constructor(options: {
    log: Log
    partitions: readonly Partition[]
    from: Positions
    poke: () => void
    failed: (error: unknown) => void
  }) {
    const { log, partitions, poke, failed } = options
    this.#log = log
    this.#partitions = partitions
    this.#means = { poke, failed }
    this.#reached = [...options.from]
    this.#main = this.#open(partitions, options.from)
  }

  /** These are read, too, each from its position on. */
  join(partitions: readonly Partition[], from: Positions): void {
    for (const partition of partitions) this.#reached[partition] = from[partition] ?? 0
    this.#late = [...this.#late, ...partitions]
    this.#joining?.reader.close()
    this.#joining = this.#open(this.#late, this.#reached)
    if (this.#rows !== 'catching') return
    // Rows of these have to be fetched as well.
    this.#catchUp?.reader.close()
    this.#catchUp = undefined
    this.#rows = 'off'
  }

  /** The next entries, if there are any. `covered` is how far rows reach, `room` how much the inserter has. */
  next(
    covered: Positions,
    room: { readonly isFull: boolean; readonly isHalfEmpty: boolean },
  ): Portion | undefined {
    this.#turn(covered, room)
    if (this.#rows === 'on') return this.#live(true)
    const catchUp = room.isFull ? undefined : this.#catchUp
    this.#isCatchUpTurn = !this.#isCatchUpTurn
    const first = this.#isCatchUpTurn && catchUp !== undefined ? this.#portion(catchUp, true) : undefined
    return first ?? this.#live(false) ?? (catchUp === undefined ? undefined : this.#portion(catchUp, true))
  }

  /** What a batch of these entries made a save write. The next batch is as large as will probably make it write as much as
   *  one save may: the thread that acknowledges messages takes up every save whole. */
  weigh(entries: readonly Entry[], records: number): void {
    const bytes = entries.reduce((sum, { body }) => sum + body.length, 0)
    const fitting = records === 0 ? Infinity : (bytes * LIMITS.batchRecordsMax) / records
    this.#bytesMax = Math.min(LIMITS.batchBytesMax, fitting)
  }

  isCaughtUp(): boolean {
    return this.#joining === undefined && this.#main.isCaughtUp()
  }

  /** Entries of partitions that came later are still to be read. */
  get isJoining(): boolean {
    return this.#joining !== undefined
  }

  close(): void {
    this.#main.reader.close()
    this.#catchUp?.reader.close()
    this.#joining?.reader.close()
  }

  /** The next entries of the main reader or of the one beside it, in turn. */
  #live(rows: boolean): Portion | undefined {
    const joining = this.#joining
    if (joining === undefined) return this.#portion(this.#main, rows)
    this.#isJoiningTurn = !this.#isJoiningTurn
    const [first, second] = this.#isJoiningTurn ? [joining, this.#main] : [this.#main, joining]
    return this.#portion(first, rows) ?? this.#portion(second, rows)
  }

  #turn(covered: Positions, room: { readonly isFull: boolean; readonly isHalfEmpty: boolean }): void {
    if (this.#joining?.isCaughtUp()) this.#join()
    if (this.#rows === 'on' && room.isFull) this.#rows = 'off'
    else if (this.#rows === 'off' && room.isHalfEmpty) {
      this.#catchUp = this.#open([...this.#partitions, ...this.#late], covered)
      this.#rows = 'catching'
    } else if (this.#rows === 'catching' && this.#catchUp?.isCaughtUp()) {
      // It has read all that the main reader has, and that was applied in full or as rows by its position.
      this.#main.reader.close()
      this.#joined()
      this.#main = this.#catchUp
      this.#catchUp = undefined
      this.#rows = 'on'
    }
  }

  #portion(intake: Intake, rows: boolean): Portion | undefined {
    if (intake.peek() === undefined) return undefined
    const entries = intake.take()
    for (const { partition, seq } of entries)
      this.#reached[partition] = Math.max(this.#reached[partition] ?? 0, seq)
    return { entries, rows }
  }

  /** One reader goes on with all, behind what was handed out. */
  #join(): void {
    this.#main.reader.close()
    this.#joined()
    this.#main = this.#open(this.#partitions, this.#reached)
  }

  #joined(): void {
    this.#joining?.reader.close()
    this.#joining = undefined
    this.#partitions = [...this.#partitions, ...this.#late]
    this.#late = []
  }

  #open(partitions: readonly Partition[], from: Positions): Intake {
    const end = () => {
      const ends = this.#log.ends()
      return partitions.reduce((sum, p) => sum + (ends[p] ?? 0), 0)
    }
    return new Intake(this.#log.reader(partitions, [...from]), {
      ...this.#means,
      bytesMax: () => this.#bytesMax,
      end,
    })
  }
}
