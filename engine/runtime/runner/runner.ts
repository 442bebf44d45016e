// The host's side of one shard: it passes entries in, takes proposals out, and carries these out in order (R4):
// propose → save → settle → send → tell → acknowledge.
// - One task is in flight at a time, and one proposal is unsettled at a time.
// H2. The verdict on a proposal is sent with the next task.
// H3. Effects are performed after their save and before the next proposal's. The shard's next incarnation does not repeat
//     them.
// H4. A lost shard is opened again from the store and the log. Nothing is missed (R1).
// H5. Only a failed task loses the shard. An error on the host's side is a bug and ends the process.
import type { DeviceId, Partition } from '../../../schemas/ids.ts'
import type { AlertSettings } from '../../domain/alert/rule-book.ts'
import { LIMITS } from '../../limits.ts'
import type { Fault } from '../../ports/fault.ts'
import type { Wants } from '../../ports/feed.ts'
import type { Entry } from '../../ports/log.ts'
import type { Claim } from '../../ports/store.ts'
import { Latch } from '../latch.ts'
import type { AnswerOf, Ask, Position, Proposal, WorkResult, WorkTask } from '../shard/protocol.ts'
import { shuttingDown } from '../shutting-down.ts'
import type { RunnerSignal } from '../signals.ts'
import { Checkpointer } from './checkpointer.ts'
import { HeldPartitions } from './held-partitions.ts'
import { type Lag, Lags } from './lags.ts'
import { LatestValue } from './latest-value.ts'
import { OpenShard } from './open-shard.ts'
import { PartitionLoader } from './partition-loader.ts'
import { PendingQuestions } from './pending-questions.ts'
import { PoisonMessages } from './poison-messages.ts'
import { ReadBarrier } from './read-barrier.ts'
import type { RunnerHost, RunnerPorts, RunnerSettings } from './runner-ports.ts'
import { isSaveNeeded, recordsOf, Saver } from './saver.ts'
import { ShardPositions } from './shard-positions.ts'
import { SilenceSweep } from './silence-sweep.ts'
import type { Portion } from './source.ts'
import { Watchdog } from './watchdog.ts'

/** How long the loop may take to end before its thread is closed. */
const LAST_TASK_MS = 1_000

export class Runner {
  readonly #held: HeldPartitions
  /** Partitions gained but not read yet. */
  readonly #loader: PartitionLoader
  readonly #ports: RunnerPorts
  readonly #host: RunnerHost
  readonly #questions: PendingQuestions
  readonly #readBarrier: ReadBarrier
  readonly #latch = new Latch()
  readonly #silenceSweep: SilenceSweep
  readonly #watchdog = new Watchdog()
  readonly #poison: PoisonMessages
  readonly #saver: Saver
  readonly #checkpoints: Checkpointer
  readonly #lags: Lags
  readonly #open: OpenShard
  /** Includes the verdict that goes with the next task. */
  readonly #positions: ShardPositions
  /** Devices for which something was held back. A lease that ran out may be renewed before another node takes over. */
  readonly #unsent = new Set<DeviceId>()
  /** Whether the last proposal was saved. The next task tells the shard (H2). */
  #isSaved = false
  #saving: Promise<void> | undefined
  /** Whether a proposal can never be saved. Then nothing may follow from it. */
  #isGivenUp = false
  readonly #wants = new LatestValue<Wants>()
  readonly #alertSettings = new LatestValue<AlertSettings>()
  #isClosing = false
  #isClosed = false
  #running: Promise<void> | undefined

  constructor(settings: RunnerSettings, ports: RunnerPorts, host: RunnerHost) {
    const { clock, schedule, log, store } = ports
    this.#held = new HeldPartitions(settings.partitions, settings.claims)
    const { partitions, claims } = this.#held
    const fatal = (fault: Fault) => host.fatal(fault)
    const signal = (about: RunnerSignal) => host.signal(about)
    this.#ports = ports
    this.#host = host
    this.#questions = new PendingQuestions({
      ticks: () => clock.ticks(),
      later: (run) => schedule.after(0, run),
      ready: () => this.#latch.set(),
    })
    this.#silenceSweep = new SilenceSweep({
      now: () => host.now(),
      ticks: () => clock.ticks(),
      watermark: () => host.watermark(partitions),
    })
    this.#saver = new Saver({ store, schedule, claims }, { signal, fatal })
    this.#poison = new PoisonMessages(store, async (parked) => {
      if (await this.#saver.save(parked)) this.#perform(parked)
    })
    this.#checkpoints = new Checkpointer(
      { partitions, claims, clock, schedule, log, store },
      { done: () => this.#latch.set(), signal, fatal },
    )
    this.#readBarrier = new ReadBarrier({ log, schedule, targetKnown: () => this.#latch.set() })
    this.#loader = new PartitionLoader(ports, {
      ready: () => this.#latch.set(),
      load: (gained, devices) => this.#open.loadDevices(gained, devices),
      loaded: (gained) => this.#open.source.join(gained, this.#positions.covered),
      failed: (fault) => signal({ kind: 'load_failed', fault }),
    })
    this.#positions = new ShardPositions(store)
    this.#open = new OpenShard(settings, ports, {
      positions: this.#positions,
      now: () => host.now(),
      poke: () => this.#latch.set(),
      readFailed: (error) => signal({ kind: 'read_failed', error }),
    })
    this.#lags = new Lags({ partitions, log, clock })
  }

  start(): void {
    void this.#readBarrier.begin(this.#open.partitions)
    // by H5
    this.#running = this.#run().catch((error: unknown) => this.#host.fatal(error))
  }

  /** `about`: the partitions the question is about. Undefined means all. */
  ask<A extends Ask>(ask: A, after: readonly Position[], about?: readonly Partition[]): Promise<AnswerOf<A>> {
    if (this.#isClosing) return Promise.reject(shuttingDown())
    return this.#questions.add(ask, after, about)
  }

  /** Adds partitions to the runner. Called after their claim. */
  gain(claims: readonly Claim[]): void {
    const partitions = claims.map(({ partition }) => partition)
    this.#held.add(claims)
    this.#positions.join(partitions)
    // It is not known whether their devices are silent.
    this.#silenceSweep.forget()
    void this.#readBarrier.begin(partitions)
    this.#loader.add(partitions)
    this.#latch.set()
  }

  want(wants: Wants): void {
    this.#wants.set(wants)
    this.#latch.set()
  }

  /** Sets the rules and silences for every entry that is read from now on. */
  rule(settings: AlertSettings): void {
    this.#alertSettings.set(settings)
    this.#latch.set()
  }

  /** Called every `LIMITS.sweepEveryMs`. */
  sweep(): void {
    this.#silenceSweep.tick()
    this.#questions.expire()
    this.#watchdog.sweep()
    this.lags()
    this.#latch.set()
  }

  /** Resolves once all rows of what is applied now are stored, so that a restart would begin after them. */
  flush(): Promise<void> {
    const flushed = this.#checkpoints.request()
    this.#latch.set()
    return flushed
  }

  /** The number of entries in the log that are not applied yet. */
  backlog(): number {
    return this.#lags.entries(this.#positions.applied)
  }

  lags(): readonly Lag[] {
    return this.#lags.measure(this.#positions.applied)
  }

  /** Works through the log's backlog, writes a checkpoint if `deadlineMs` allows, and ends the thread. */
  async close(deadlineMs: number): Promise<void> {
    const { clock, schedule } = this.#ports
    this.#isClosing = true
    const until = clock.ticks() + deadlineMs
    while (this.backlog() > 0 && clock.ticks() < until) await schedule.sleep(10)
    const flushed = this.flush().catch(() => {
      // Reported where it failed.
    })
    await Promise.race([flushed, schedule.sleep(Math.max(0, until - clock.ticks()))])
    await this.abandon()
  }

  /** Ends without finishing: waits for what is being saved, and lets nothing follow from it. Another runner goes on. */
  async abandon(): Promise<void> {
    this.#isClosing = true
    this.#isClosed = true
    this.#saver.close()
    this.#checkpoints.close()
    this.#readBarrier.close()
    this.#latch.set()
    await Promise.race([this.#running, this.#ports.schedule.sleep(LAST_TASK_MS)])
    await this.#open.thread.close()
    await this.#running
    // The loop may have opened the shard again meanwhile.
    await this.#open.thread.close()
    await this.#saving
    await this.#checkpoints.abandon()
    this.#open.source.close()
    this.#questions.fail(shuttingDown())
  }

  async #run(): Promise<void> {
    await this.#orRecover(() => this.#open.load(this.#alertSettings))
    while (!this.#isClosed) {
      const hasJoined = await this.#orRecover(() => this.#loader.step())
      const isIdle = this.#isClosed || (!(await this.#step()) && !hasJoined)
      if (isIdle && !this.#isClosed) await this.#latch.wait()
    }
  }

  /** Opens the shard again if `work` fails. */
  async #orRecover<Result>(work: () => Promise<Result>): Promise<Result | true> {
    try {
      return await work()
    } catch (error) {
      await this.#recover(error, undefined)
      return true
    }
  }

  /** Runs one task if there is anything to do. */
  async #step(): Promise<boolean> {
    const isOpen = this.#saving !== undefined || this.#isGivenUp
    const portion = isOpen ? undefined : this.#nextPortion()
    const isJoining = this.#loader.isUnderWay || this.#open.source.isJoining
    const isCaughtUp = !isOpen && !isJoining && portion === undefined && this.#open.source.isCaughtUp()
    if (isCaughtUp) this.#positions.caughtUp()
    const { applied, seen, covered } = this.#positions
    // Answers need all devices they are about to be loaded, and everything up to the read barrier to be read.
    const asks = this.#questions.take(
      seen,
      (about = this.#held.partitions) =>
        !this.#loader.isLoading(about) && this.#readBarrier.isReached(seen, about),
    )
    // Gained partitions lag behind the others, so there is no single time up to which everything was read.
    const sweep = isOpen || isJoining ? undefined : this.#silenceSweep.takeSweep(isCaughtUp)
    const isCheckpoint = !isOpen && this.#checkpoints.isDue(applied, covered)
    const isNeeded =
      portion !== undefined ||
      asks.length > 0 ||
      sweep !== undefined ||
      isCheckpoint ||
      this.#wants.isPending ||
      this.#alertSettings.isPending ||
      // `covered` grows only with a verdict, and a checkpoint request waits for it.
      (this.#isSaved && this.#checkpoints.isRequested)
    if (!isNeeded) return false
    const task = this.#task({ portion, asks: asks.map(({ ask }) => ask), sweep, isCheckpoint })
    const result = await this.#watchdog.run(this.#open.thread, task)
    // Once the runner is abandoned, the shard's results no longer count.
    if (result instanceof Error || this.#isClosed) {
      this.#questions.putBack(asks)
      if (result instanceof Error) await this.#recover(result, task)
      return true
    }
    result.answers.forEach((answer, i) => {
      asks[i]?.resolve(answer)
    })
    this.#take(task, result, isCheckpoint)
    return true
  }

  #task(parts: {
    portion: Portion | undefined
    asks: readonly Ask[]
    sweep: WorkTask['sweep']
    isCheckpoint: boolean
  }): WorkTask {
    const settle = this.#isSaved
    this.#isSaved = false
    const unsent = [...this.#unsent]
    this.#unsent.clear()
    return {
      kind: 'work',
      settle,
      entries: parts.portion?.entries ?? [],
      rows: parts.portion?.rows ?? true,
      asks: parts.asks,
      sweep: parts.sweep,
      unsent,
      forgiveAt: this.#silenceSweep.takeForgiveness(),
      leaps: this.#silenceSweep.leaps,
      horizon: this.#host.horizon(),
      wants: this.#wants.take(),
      alertSettings: this.#alertSettings.take(),
      cut: parts.isCheckpoint ? 'all' : 'due',
      vitals: parts.isCheckpoint,
      now: this.#host.now(),
    }
  }

  #take(task: WorkTask, result: WorkResult, isCheckpoint: boolean): void {
    this.#positions.cover(result.covered)
    this.#silenceSweep.swept(result.isSweepCut)
    const inserted = this.#ports.inserter.insert(result.blocks)
    // The inserter has room again.
    if (result.blocks.length > 0) void inserted.then(() => this.#latch.set())
    if (isCheckpoint) this.#checkpoints.take(result, inserted, [...this.#positions.covered])
    this.#host.signal({ kind: 'worked', result })
    if (task.entries.length === 0 && task.sweep === undefined) return
    const { proposal } = result
    const { entries } = task
    if (entries.length > 0) {
      this.#poison.entriesPassed()
      // What a sweep saves does not follow from the entries.
      if (task.sweep === undefined) this.#open.source.adjustBatchSize(entries, recordsOf(proposal))
    }
    if (isSaveNeeded(proposal)) this.#save(proposal, entries)
    else {
      this.#saver.passed(proposal.applied)
      this.#saved(proposal, entries)
    }
  }

  /** While a proposal is being saved, the shard answers questions and waits. */
  #save(proposal: Proposal, entries: readonly Entry[]): void {
    const save = async () => {
      const isSaved = await this.#saver.save(proposal)
      this.#saving = undefined
      if (isSaved) this.#saved(proposal, entries)
      else this.#isGivenUp = true
      this.#latch.set()
    }
    this.#saving = save().catch((error: unknown) => this.#host.fatal(error))
  }

  #saved(proposal: Proposal, entries: readonly Entry[]): void {
    this.#isSaved = true
    this.#positions.settled(proposal.applied, entries)
    this.#perform(proposal)
  }

  #perform(proposal: Proposal): void {
    this.#host.perform(proposal, this.#held, (id) => this.#unsent.add(id))
  }

  #nextPortion(): Portion | undefined {
    const { inserter } = this.#ports
    const room = { isFull: inserter.isFull(), isHalfEmpty: inserter.waiting <= LIMITS.blocksWaitingMax / 2 }
    const portion = this.#open.source.next(this.#positions.covered, room)
    return portion && { ...portion, entries: this.#poison.withoutParked(portion.entries) }
  }

  /** Opens the shard again, until it is loaded (H4). */
  async #recover(error: unknown, task: WorkTask | undefined): Promise<void> {
    // The thread may have been replaced by an empty one, which must not be used.
    await this.#open.thread.close()
    await this.#poison.shardDied(task?.entries ?? [], this.#open.takeSuspect())
    for (let cause = error, isLoaded = false; !isLoaded && !this.#isClosed; ) {
      this.#host.signal({ kind: 'shard_lost', error: cause })
      await this.#ports.schedule.sleep(
        Math.min(LIMITS.shardRetryMs * Math.max(1, this.#poison.deaths), LIMITS.shardRetryMsMax),
      )
      await this.#reopen()
      try {
        await this.#open.load(this.#alertSettings)
        isLoaded = true
      } catch (again) {
        cause = again
        await this.#open.thread.close()
      }
    }
  }

  async #reopen(): Promise<void> {
    // The old shard's last save must end first: the new shard must find all of it, and none of it may come later.
    await this.#saving
    await this.#checkpoints.abandon()
    this.#positions.startOver()
    this.#open.replace([...this.#held.partitions])
    this.#loader.clear()
    void this.#readBarrier.begin(this.#open.partitions)
    this.#isSaved = false
    this.#wants.renew()
  }
}
