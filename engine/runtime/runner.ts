// The host's side of one shard: entries in, proposals out, and everything that follows from them in its order (R4):
// propose → save → settle → send → tell → acknowledge.
//
// H1. One task is in flight at a time, and one proposal is unsettled at a time.
// H2. The verdict on a proposal rides on the next task.
// H3. Effects are performed after their save, before the next proposal's.
// H4. A shard that is lost is opened again from the store and the log; nothing of it is missed (R1).

import type { Millis } from '../../schemas/ids.ts'
import { LIMITS } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import { Fault } from '../ports/fault.ts'
import type { Log, Positions } from '../ports/log.ts'
import type { Store } from '../ports/store.ts'
import { Asks } from './asks.ts'
import { Checkpointer } from './checkpointer.ts'
import type { Want } from './feed.ts'
import type { Inserter } from './inserter.ts'
import { Poison } from './poison.ts'
import type { Answer, Ask, Mark, Proposal, ShardSettings, WorkResult, WorkTask } from './protocol.ts'
import type { Schedule } from './schedule.ts'
import { type Portion, Source } from './source.ts'
import type { ShardThread } from './thread.ts'
import { Wake } from './wake.ts'
import { Watch } from './watch.ts'

export interface RunnerPorts {
  readonly clock: Clock
  readonly schedule: Schedule
  readonly log: Log
  readonly store: Store
  readonly inserter: Inserter
  readonly openThread: (settings: ShardSettings) => ShardThread
}

export interface RunnerEvents {
  /** H3: after the save. */
  perform(proposal: Proposal): void
  worked(result: WorkResult): void
  saveFailed(fault: Fault): void
  lost(fault: unknown): void
  /** Telemetry before this instant has rollups, or is about to. */
  horizon(): Millis
  /** False while the log fails: then silence proves nothing. */
  isHearing(): boolean
}

const RETRY_MS = 250

export class Runner {
  readonly #settings: Omit<ShardSettings, 'life'>
  readonly #ports: RunnerPorts
  readonly #events: RunnerEvents
  readonly #asks: Asks
  readonly #wake = new Wake()
  readonly #watch: Watch
  readonly #poison: Poison
  readonly #checkpoints: Checkpointer
  #source: Source
  #thread: ShardThread
  #lives = 0
  /** What is applied and saved, counting the verdict that rides next. */
  #applied: number[]
  #covered: Positions
  #verdict: 'saved' | undefined
  #isSaving = false
  #want: Want | undefined
  #lastWant: Want | undefined
  #isClosing = false
  #isClosed = false
  #running: Promise<void> | undefined

  constructor(settings: Omit<ShardSettings, 'life'>, ports: RunnerPorts, events: RunnerEvents) {
    this.#settings = settings
    this.#ports = ports
    this.#events = events
    this.#asks = new Asks(() => ports.clock.ticks())
    this.#watch = new Watch(ports.clock)
    this.#poison = new Poison(ports.store)
    this.#checkpoints = new Checkpointer(ports, () => this.#wake.poke())
    this.#thread = this.#newThread()
    this.#applied = appliedOf(ports.store)
    this.#covered = ports.store.inserted()
    this.#source = this.#newSource()
  }

  start(): void {
    this.#running = this.#run()
  }

  ask(ask: Ask, after: readonly Mark[]): Promise<Answer> {
    if (this.#isClosing)
      return Promise.reject(new Fault('SHARD_LOST', { retryable: true, message: 'shutting down' }))
    const answer = this.#asks.add(ask, after)
    this.#wake.poke()
    return answer
  }

  want(want: Want): void {
    this.#want = want
    this.#lastWant = want
    this.#wake.poke()
  }

  /** Called every `LIMITS.sweepEveryMs`. */
  tick(): void {
    this.#watch.tick(this.#events.isHearing())
    this.#asks.expire()
    this.#wake.poke()
  }

  /** Resolves once every row of what is applied now is stored, and a restart would start behind it. */
  flush(): Promise<void> {
    const flushed = this.#checkpoints.request()
    this.#wake.poke()
    return flushed
  }

  /** Entries in the log that are not applied yet. */
  backlog(): number {
    const ends = this.#ports.log.ends()
    return this.#settings.partitions.reduce(
      (sum, p) => sum + Math.max(0, (ends[p] ?? 0) - (this.#applied[p] ?? 0)),
      0,
    )
  }

  /** Works off what is in the log, checkpoints if it can within `deadlineMs`, and ends the thread. */
  async close(deadlineMs: number): Promise<void> {
    this.#isClosing = true
    const until = this.#ports.clock.ticks() + deadlineMs
    while (this.backlog() > 0 && this.#ports.clock.ticks() < until) await this.#ports.schedule.sleep(10)
    const left = Math.max(0, until - this.#ports.clock.ticks())
    await Promise.race([this.flush(), this.#ports.schedule.sleep(left)])
    this.#isClosed = true
    this.#wake.poke()
    await this.#running
    this.#source.close()
    this.#asks.fail(new Fault('SHARD_LOST', { retryable: true, message: 'shutting down' }))
    await this.#thread.close()
  }

  async #run(): Promise<void> {
    try {
      await this.#load()
    } catch (error) {
      await this.#recover(error, undefined)
    }
    while (!this.#isClosed) {
      const isIdle = !(await this.#step())
      if (isIdle && !this.#isClosed) await this.#wake.wait()
    }
  }

  /** One task, if there is anything to do. */
  async #step(): Promise<boolean> {
    const portion = this.#isSaving ? undefined : this.#nextPortion()
    const applied = this.#applied
    const asks = this.#asks.take(applied)
    const sweep = this.#isSaving
      ? undefined
      : this.#watch.takeSweep(portion === undefined && this.#source.isCaughtUp())
    const isCheckpoint = !this.#isSaving && this.#checkpoints.isDue()
    const want = this.#want
    if (
      portion === undefined &&
      asks.length === 0 &&
      sweep === undefined &&
      !isCheckpoint &&
      want === undefined
    )
      return false
    const task = this.#task({ portion, asks: asks.map(({ ask }) => ask), sweep, isCheckpoint, want })
    try {
      const result = await this.#thread.run(task)
      if (result === undefined) throw new Error('a work task has a result')
      this.#take(task, result, isCheckpoint)
      result.answers.forEach((answer, i) => {
        asks[i]?.resolve(answer)
      })
    } catch (error) {
      this.#asks.putBack(asks)
      await this.#recover(error, portion)
    }
    return true
  }

  #task(parts: {
    portion: Portion | undefined
    asks: readonly Ask[]
    sweep: WorkTask['sweep']
    isCheckpoint: boolean
    want: Want | undefined
  }): WorkTask {
    const settle = this.#verdict
    this.#verdict = undefined
    this.#want = undefined
    return {
      kind: 'work',
      settle,
      entries: parts.portion?.entries ?? [],
      rows: parts.portion?.rows ?? true,
      asks: parts.asks,
      sweep: parts.sweep,
      forgiveAt: this.#watch.takeForgiveness(),
      horizon: this.#events.horizon(),
      want: parts.want,
      cut: parts.isCheckpoint ? 'all' : 'due',
      vitals: parts.isCheckpoint,
      now: this.#ports.clock.now(),
    }
  }

  #take(task: WorkTask, result: WorkResult, isCheckpoint: boolean): void {
    this.#covered = later(this.#covered, result.covered)
    const inserted = this.#ports.inserter.insert(result.blocks)
    if (isCheckpoint) this.#checkpoints.take(result, inserted)
    this.#events.worked(result)
    if (task.entries.length === 0 && task.sweep === undefined) return
    const { proposal } = result
    const isChange = proposal.changed.length + proposal.deadLetters.length + proposal.late.length > 0
    if (isChange) void this.#save(proposal)
    else this.#saved(proposal)
  }

  /** Tries until it is saved: a shard whose proposal hangs answers questions and waits. */
  async #save(proposal: Proposal): Promise<void> {
    this.#isSaving = true
    for (let isSaved = false; !isSaved && !this.#isClosed; ) {
      try {
        await this.#ports.store.save(proposal)
        isSaved = true
      } catch (error) {
        this.#events.saveFailed(
          error instanceof Fault ? error : new Fault('STORE_UNAVAILABLE', { retryable: true, cause: error }),
        )
        await this.#ports.schedule.sleep(RETRY_MS)
      }
    }
    this.#isSaving = false
    this.#saved(proposal)
    this.#wake.poke()
  }

  #saved(proposal: Proposal): void {
    this.#verdict = 'saved'
    for (const { partition, seq } of proposal.applied) this.#applied[partition] = seq
    this.#poison.passed()
    this.#events.perform(proposal)
  }

  #nextPortion(): Portion | undefined {
    const { inserter } = this.#ports
    const room = { isFull: inserter.isFull(), isHalfEmpty: inserter.waiting <= LIMITS.blocksWaitingMax / 2 }
    const portion = this.#poison.next() ?? this.#source.next(this.#covered, room)
    return portion === undefined ? undefined : this.#poison.narrow(portion)
  }

  /** Opens the shard again until it is loaded (H4). */
  async #recover(error: unknown, portion: Portion | undefined): Promise<void> {
    if (portion !== undefined) await this.#poison.suspect(portion.entries)
    for (let cause = error, isLoaded = false; !isLoaded && !this.#isClosed; ) {
      this.#events.lost(cause)
      await this.#thread.close()
      await this.#ports.schedule.sleep(Math.min(RETRY_MS * Math.max(1, this.#poison.deaths), 2_000))
      this.#reopen()
      try {
        await this.#load()
        isLoaded = true
      } catch (again) {
        cause = again
      }
    }
  }

  #reopen(): void {
    this.#checkpoints.abandon()
    this.#poison.startOver()
    this.#source.close()
    this.#thread = this.#newThread()
    this.#applied = appliedOf(this.#ports.store)
    this.#covered = this.#ports.store.inserted()
    this.#source = this.#newSource()
    this.#verdict = undefined
    this.#want = this.#lastWant
  }

  async #load(): Promise<void> {
    const { store, clock } = this.#ports
    const positions = appliedOf(store)
    const applied = this.#settings.partitions.map((partition) => ({
      partition,
      seq: positions[partition] ?? 0,
    }))
    const covered = store.inserted()
    await this.#thread.run({ kind: 'load', devices: [], applied, now: clock.now() })
    for await (const devices of store.load(this.#settings.partitions))
      await this.#thread.run({ kind: 'load', devices, applied, now: clock.now() })
    this.#covered = covered
  }

  #newThread(): ShardThread {
    const life = `${this.#settings.bootAt.toString(36)}-${this.#settings.partitions[0] ?? 0}-${this.#lives++}`
    return this.#ports.openThread({ ...this.#settings, life })
  }

  #newSource(): Source {
    return new Source({
      log: this.#ports.log,
      partitions: this.#settings.partitions,
      from: this.#covered,
      poke: () => this.#wake.poke(),
    })
  }
}

/** A batch that changed no record is not saved; that it was applied shows in the checkpoint of its rows. */
function appliedOf(store: Store): number[] {
  const inserted = store.inserted()
  return store.applied().map((seq, partition) => Math.max(seq, inserted[partition] ?? 0))
}

/** A shard that has covered nothing yet says 0; what was covered before it stays covered. */
function later(positions: Positions, covered: Float64Array): Positions {
  return positions.map((seq, partition) => Math.max(seq, covered[partition] ?? 0))
}
