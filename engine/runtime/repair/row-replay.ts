// Reads the rows of some partitions again. A shard of its own reads the log's entries as after a restart at which
// everything was applied already. So it decides nothing, and its rows are the same, bit for bit, as the first time (R11).
import { Micros, Millis, type Partition } from '../../../schemas/ids.ts'
import { readItems } from '../../domain/bundle.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Entry, Log, LogReader } from '../../ports/log.ts'
import type { Records } from '../../ports/store.ts'
import type { Block } from '../../ports/telemetry.ts'
import type { PoisonMessages } from '../runner/poison-messages.ts'
import type { ShardThread } from '../runner/thread.ts'
import { newProgress, suspectOf } from '../shard/progress.ts'
import type { ShardSettings, WorkResult, WorkTask } from '../shard/protocol.ts'

/** The receive times of messages in one entry differ by less than this. */
const ENTRY_SPREAD_MS = 60_000

export interface RowReplayOptions {
  readonly log: Pick<Log, 'reader' | 'ends'>
  readonly store: Pick<Records, 'load'>
  readonly clock: Clock
  readonly openThread: (settings: ShardSettings) => ShardThread
  readonly partitions: readonly Partition[]
  /** Receive times. */
  readonly from: Millis
  readonly to: Millis
  /** Leaves out messages that killed earlier readings. */
  readonly poison: PoisonMessages
  /** Unique per reading. */
  readonly incarnation: string
  /** Resolves once the blocks are stored. */
  readonly insert: (blocks: readonly Block[]) => Promise<unknown>
  /** Called when an entry of this time was read. */
  readonly read: (at: Millis) => void
  /** Called with the number of further messages that had rows. */
  readonly counted: (messages: number) => void
}

type TimeClass = 'before' | 'within' | 'after'

export class RowReplay {
  readonly #options: RowReplayOptions
  readonly #progress = newProgress()
  readonly #thread: ShardThread
  readonly #reader: LogReader
  /** The end of each partition when the reading began, while it is not reached. */
  readonly #unreadEnds: Map<Partition, number>
  #isBehindProposal = false

  constructor(options: RowReplayOptions) {
    const { log, clock, partitions, incarnation, openThread } = options
    this.#options = options
    const ends = log.ends()
    this.#unreadEnds = new Map(partitions.map((p) => [p, ends[p] ?? 0] as const).filter(([, end]) => end > 0))
    this.#reader = log.reader(partitions, new Array<number>(LIMITS.partitions).fill(0))
    const bootAt = Micros(clock.now() * 1000)
    const heartbeatTimeoutMs = Number.MAX_SAFE_INTEGER
    this.#thread = openThread({
      partitions,
      heartbeatTimeoutMs,
      bootAt,
      incarnation,
      progress: this.#progress,
    })
  }

  /** Makes `run` end soon. */
  stop(): void {
    this.#reader.close()
  }

  /** Resolves once all rows are stored or it was stopped. Rejects if its shard died. Another reading may succeed then. */
  async run(): Promise<void> {
    try {
      await this.#load()
      while (this.#unreadEnds.size > 0) {
        const pulled = await this.#reader.pull(LIMITS.batchBytesMax)
        if (pulled === undefined) return
        const found = pulled.map((entry) => ({ entry, time: this.#classify(entry) }))
        const entriesOf = (time: TimeClass) =>
          found.filter((each) => each.time === time).map(({ entry }) => entry)
        // Read without rows: which of two copies of a message counts depends on the entries before.
        await this.#work(entriesOf('before'), { rows: false, cut: 'due' })
        await this.#work(entriesOf('within'), { rows: true, cut: 'due' })
      }
      await this.#work([], { rows: true, cut: 'all' })
    } finally {
      this.#reader.close()
      await this.#thread.close()
    }
  }

  async #load(): Promise<void> {
    const { store, clock, partitions } = this.#options
    const applied = partitions.map((partition) => ({ partition, seq: Number.MAX_SAFE_INTEGER }))
    const load = { kind: 'load', applied, now: clock.now() } as const
    await this.#thread.run({ ...load, devices: [] })
    for await (const devices of store.load(partitions)) {
      // The saved vitals are today's, but the log is read as from its beginning.
      const stored = devices.map((device) => ({ ...device, vitals: undefined }))
      await this.#thread.run({ ...load, devices: stored })
    }
  }

  /** Classifies an entry by its first message. A partition that is past the span or its end is done. */
  #classify({ partition, seq, body }: Entry): TimeClass {
    const { from, to, read } = this.#options
    const end = this.#unreadEnds.get(partition)
    if (end === undefined) return 'after'
    if (seq >= end) this.#unreadEnds.delete(partition)
    const [first] = readItems(body)
    if (first === undefined) return 'before'
    const at = Millis(Math.floor(first.receivedAt / 1000))
    read(at)
    if (at < from - ENTRY_SPREAD_MS) return 'before'
    if (at <= to + ENTRY_SPREAD_MS) return 'within'
    this.#unreadEnds.delete(partition)
    return 'after'
  }

  async #work(entries: readonly Entry[], { rows, cut }: Pick<WorkTask, 'rows' | 'cut'>): Promise<void> {
    const { insert, counted } = this.#options
    if (entries.length === 0 && cut === 'due') return
    const result = await this.#try({ entries, rows, cut })
    if (result === undefined) return
    if (rows) counted(result.counts.stored)
    if (result.blocks.length > 0) await insert(result.blocks)
  }

  async #try(wanted: Pick<WorkTask, 'entries' | 'rows' | 'cut'>): Promise<WorkResult | undefined> {
    const { clock, poison } = this.#options
    const entries = poison.withoutParked(wanted.entries)
    const task: WorkTask = {
      ...wanted,
      kind: 'work',
      // Nothing was proposed. This only tells the shard that the rows count.
      settle: this.#isBehindProposal,
      entries,
      asks: [],
      sweep: undefined,
      unsent: [],
      forgiveAt: undefined,
      leaps: [],
      horizon: Millis(0),
      wants: undefined,
      vitals: false,
      now: clock.now(),
    }
    this.#isBehindProposal = entries.length > 0
    try {
      return await this.#thread.run(task)
    } catch (error) {
      await poison.shardDied(entries, suspectOf(this.#progress))
      throw error
    }
  }
}
