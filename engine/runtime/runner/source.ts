// Where a shard's entries come from. Normally one reader feeds both records and rows. When ClickHouse cannot keep up,
// records go on without rows. Later a second reader fetches the rows from the log, and takes over once it has caught up.
// Partitions gained later also have a reader of their own at first, so that the other partitions do not wait however much
// there is to read.

import type { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Entry, Log, LogReader, Positions } from '../../ports/log.ts'

interface BufferedReaderPorts {
  /** How many bytes the next batch may hold. */
  readonly bytesMax: () => number
  /** The sum of these partitions' end positions. */
  readonly end: () => number
  readonly poke: () => void
  readonly failed: (error: unknown) => void
}

/** One reader with at most one pull in flight. */
class BufferedReader {
  readonly reader: LogReader
  readonly #ports: BufferedReaderPorts
  #pulled: readonly Entry[] | undefined
  #isPulling = false
  /** The log's end when the current pull began, if the reader was caught up then; otherwise -1. */
  #idleAt = -1

  constructor(reader: LogReader, ports: BufferedReaderPorts) {
    this.reader = reader
    this.#ports = ports
  }

  /** The entries at hand. Pulls more if there are none. */
  peek(): readonly Entry[] | undefined {
    if (this.#pulled === undefined && !this.#isPulling) this.#pull()
    return this.#pulled
  }

  take(): readonly Entry[] {
    const entries = this.#pulled ?? []
    this.#pulled = undefined
    return entries
  }

  /** True if no entry is at hand, readable at once, or in flight. While a pull returns, the reader already looks caught up
   *  although its entries are not at hand yet. */
  isCaughtUp(): boolean {
    if (this.#pulled !== undefined || !this.reader.isCaughtUp()) return false
    return !this.#isPulling || this.#idleAt === this.#ports.end()
  }

  #pull(): void {
    this.#isPulling = true
    this.#idleAt = this.reader.isCaughtUp() ? this.#ports.end() : -1
    const done = (entries: readonly Entry[] | undefined) => {
      this.#isPulling = false
      this.#pulled = entries?.length === 0 ? undefined : entries
      if (entries !== undefined) this.#ports.poke()
    }
    this.reader.pull(this.#ports.bytesMax()).then(done, (error: unknown) => {
      // If the reader fails, the next look asks it again.
      done(undefined)
      this.#ports.failed(error)
    })
  }
}

export interface Portion {
  readonly entries: readonly Entry[]
  readonly rows: boolean
}

export class Source {
  readonly #log: Log
  readonly #ports: Pick<BufferedReaderPorts, 'poke' | 'failed'>
  /** The main reader's partitions. */
  #partitions: readonly Partition[]
  #main: BufferedReader
  /** Partitions that the main reader does not read yet. */
  #joiningPartitions: readonly Partition[] = []
  #joining: BufferedReader | undefined
  #isJoiningTurn = false
  /** The position of each partition up to which entries were handed out. */
  readonly #reached: number[]
  #rows: 'on' | 'off' | 'catching' = 'on'
  #catchUp: BufferedReader | undefined
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
    this.#ports = { poke, failed }
    this.#reached = [...options.from]
    this.#main = this.#open(partitions, options.from)
  }

  /** Adds partitions, each from its position on. */
  join(partitions: readonly Partition[], from: Positions): void {
    for (const partition of partitions) this.#reached[partition] = from[partition] ?? 0
    this.#joiningPartitions = [...this.#joiningPartitions, ...partitions]
    this.#joining?.reader.close()
    this.#joining = this.#open(this.#joiningPartitions, this.#reached)
    if (this.#rows !== 'catching') return
    // The rows of these partitions must be fetched, too.
    this.#catchUp?.reader.close()
    this.#catchUp = undefined
    this.#rows = 'off'
  }

  /** The next entries, if there are any. `covered`: how far rows reach. `room`: how much room the inserter has. */
  next(
    covered: Positions,
    room: { readonly isFull: boolean; readonly isHalfEmpty: boolean },
  ): Portion | undefined {
    this.#switchReaders(covered, room)
    if (this.#rows === 'on') return this.#live(true)
    const catchUp = room.isFull ? undefined : this.#catchUp
    this.#isCatchUpTurn = !this.#isCatchUpTurn
    const first = this.#isCatchUpTurn && catchUp !== undefined ? this.#portion(catchUp, true) : undefined
    return first ?? this.#live(false) ?? (catchUp === undefined ? undefined : this.#portion(catchUp, true))
  }

  /** Notes how many records a save of these entries wrote, and sizes the next batch so that its save will probably write
   *  as many as allowed. A save blocks the thread that acknowledges messages, so it must not be too large. */
  adjustBatchSize(entries: readonly Entry[], records: number): void {
    const bytes = entries.reduce((sum, { body }) => sum + body.length, 0)
    const fitting = records === 0 ? Infinity : (bytes * LIMITS.batchRecordsMax) / records
    this.#bytesMax = Math.min(LIMITS.batchBytesMax, fitting)
  }

  isCaughtUp(): boolean {
    return this.#joining === undefined && this.#main.isCaughtUp()
  }

  /** Whether partitions gained later still have a reader of their own. */
  get isJoining(): boolean {
    return this.#joining !== undefined
  }

  close(): void {
    this.#main.reader.close()
    this.#catchUp?.reader.close()
    this.#joining?.reader.close()
  }

  /** The next entries of the main reader or of the joining one, in turn. */
  #live(rows: boolean): Portion | undefined {
    const joining = this.#joining
    if (joining === undefined) return this.#portion(this.#main, rows)
    this.#isJoiningTurn = !this.#isJoiningTurn
    const [first, second] = this.#isJoiningTurn ? [joining, this.#main] : [this.#main, joining]
    return this.#portion(first, rows) ?? this.#portion(second, rows)
  }

  #switchReaders(
    covered: Positions,
    room: { readonly isFull: boolean; readonly isHalfEmpty: boolean },
  ): void {
    if (this.#joining?.isCaughtUp()) this.#readAllTogether()
    if (this.#rows === 'on' && room.isFull) this.#rows = 'off'
    else if (this.#rows === 'off' && room.isHalfEmpty) {
      this.#catchUp = this.#open([...this.#partitions, ...this.#joiningPartitions], covered)
      this.#rows = 'catching'
    } else if (this.#rows === 'catching' && this.#catchUp?.isCaughtUp()) {
      // It has read everything that the main reader has. Positions told which entries to apply in full and which for rows.
      this.#main.reader.close()
      this.#mergeJoining()
      this.#main = this.#catchUp
      this.#catchUp = undefined
      this.#rows = 'on'
    }
  }

  #portion(reader: BufferedReader, rows: boolean): Portion | undefined {
    if (reader.peek() === undefined) return undefined
    const entries = reader.take()
    for (const { partition, seq } of entries)
      this.#reached[partition] = Math.max(this.#reached[partition] ?? 0, seq)
    return { entries, rows }
  }

  /** One reader takes over all partitions, after the entries handed out so far. */
  #readAllTogether(): void {
    this.#main.reader.close()
    this.#mergeJoining()
    this.#main = this.#open(this.#partitions, this.#reached)
  }

  #mergeJoining(): void {
    this.#joining?.reader.close()
    this.#joining = undefined
    this.#partitions = [...this.#partitions, ...this.#joiningPartitions]
    this.#joiningPartitions = []
  }

  #open(partitions: readonly Partition[], from: Positions): BufferedReader {
    const end = () => {
      const ends = this.#log.ends()
      return partitions.reduce((sum, p) => sum + (ends[p] ?? 0), 0)
    }
    return new BufferedReader(this.#log.reader(partitions, [...from]), {
      ...this.#ports,
      bytesMax: () => this.#bytesMax,
      end,
    })
  }
}
