// The host's side of one shard: entries in, proposals out, and everything that follows from them in its order (R4):
// propose → save → settle → send → tell → acknowledge.
// - One task is in flight at a time, and one proposal is unsettled at a time.
// H2. The verdict on a proposal rides on the next task.
// H3. Effects are performed after their save, before the next proposal's, and not again by a shard's next incarnation.
// H4. A shard that is lost is opened again from the store and the log; nothing of it is missed (R1).
// H5. Only a task that fails loses its shard. What is wrong on this side of it is a bug, and ends the process.
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
import { Asks } from './asks.ts'
import { Checkpointer } from './checkpointer.ts'
import { Holding } from './holding.ts'
import { Joining } from './joining.ts'
import { type Lag, Lags } from './lags.ts'
import { News } from './news.ts'
import { OpenShard } from './open-shard.ts'
import { Poison } from './poison.ts'
import { ReadBarrier } from './read-barrier.ts'
import type { RunnerHost, RunnerPorts, RunnerSettings } from './runner-ports.ts'
import { isSaveNeeded, recordsOf, Saver } from './saver.ts'
import { ShardPositions } from './shard-positions.ts'
import { SilenceSweep } from './silence-sweep.ts'
import type { Portion } from './source.ts'
import { Watchdog } from './watchdog.ts'

/** Time that the loop has to end before its thread is taken from it. */
const LAST_TASK_MS = 1_000

export class Runner {
  readonly #holding: Holding
  /** Gained, and not read yet. */
  readonly #joining: Joining
  readonly #ports: RunnerPorts
  readonly #host: RunnerHost
  readonly #asks: Asks
  readonly #readBarrier: ReadBarrier
  readonly #latch = new Latch()
  readonly #silenceSweep: SilenceSweep
  readonly #watchdog = new Watchdog()
  readonly #poison: Poison
  readonly #saver: Saver
  readonly #checkpoints: Checkpointer
  readonly #lags: Lags
  readonly #open: OpenShard
  /** Counting the verdict that rides next. */
  readonly #positions: ShardPositions
  /** Devices about which something was left unsaid. A lease that ran out may be renewed before another node takes over. */
  readonly #unsaid = new Set<DeviceId>()
  /** The proposal before was saved, and the next task tells the shard so (H2). */
  #isSaved = false
  #saving: Promise<void> | undefined
  /** A proposal was not saved and never will be: nothing may follow from it. */
  #isGivenUp = false
  readonly #wants = new News<Wants>()
  readonly #alertSettings = new News<AlertSettings>()
  #isClosing = false
  #isClosed = false
  #running: Promise<void> | undefined

  constructor(settings: RunnerSettings, ports: RunnerPorts, host: RunnerHost) {
    const { clock, schedule, log, store } = ports
    this.#holding = new Holding(settings.partitions, settings.claims)
    const { partitions, claims } = this.#holding
    const fatal = (fault: Fault) => host.fatal(fault)
    const signal = (about: RunnerSignal) => host.signal(about)
    this.#ports = ports
    this.#host = host
    this.#asks = new Asks({
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
    this.#poison = new Poison(store, async (parked) => {
      if (await this.#saver.save(parked)) this.#perform(parked)
    })
    this.#checkpoints = new Checkpointer(
      { partitions, claims, clock, schedule, log, store },
      { done: () => this.#latch.set(), signal, fatal },
    )
    this.#readBarrier = new ReadBarrier({ log, schedule, found: () => this.#latch.set() })
    this.#joining = new Joining(ports, {
      ready: () => this.#latch.set(),
      load: (gained, devices) => this.#open.put(gained, devices),
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

  /** `about`: partitions of the devices that it is about, or nothing if it is about all that there are. */
  ask<A extends Ask>(ask: A, after: readonly Position[], about?: readonly Partition[]): Promise<AnswerOf<A>> {
    if (this.#isClosing) return Promise.reject(shuttingDown())
    return this.#asks.add(ask, after, about)
  }

  /** Takes these up besides what it has. Called after their claim. */
  gain(claims: readonly Claim[]): void {
    const partitions = claims.map(({ partition }) => partition)
    this.#holding.add(claims)
    this.#positions.join(partitions)
    // Nothing is known of their silence.
    this.#silenceSweep.forget()
    void this.#readBarrier.begin(partitions)
    this.#joining.add(partitions)
    this.#latch.set()
  }

  want(wants: Wants): void {
    this.#wants.set(wants)
    this.#latch.set()
  }

  /** Rules and silences that count for every entry that is read from now on. */
  rule(settings: AlertSettings): void {
    this.#alertSettings.set(settings)
    this.#latch.set()
  }

  /** Called every `LIMITS.sweepEveryMs`. */
  sweep(): void {
    this.#silenceSweep.look()
    this.#asks.expire()
    this.#watchdog.sweep()
    this.lags()
    this.#latch.set()
  }

  /** Resolves once every row of what is applied now is stored, and a restart would start behind it. */
  flush(): Promise<void> {
    const flushed = this.#checkpoints.request()
    this.#latch.set()
    return flushed
  }

  /** Entries in the log that are not applied yet. */
  backlog(): number {
    return this.#lags.entries(this.#positions.applied)
  }

  lags(): readonly Lag[] {
    return this.#lags.look(this.#positions.applied)
  }

  /** Works off what is in the log, checkpoints if it can within `deadlineMs`, and ends the thread. */
  async close(deadlineMs: number): Promise<void> {
    const { clock, schedule } = this.#ports
    this.#isClosing = true
    const until = clock.ticks() + deadlineMs
    while (this.backlog() > 0 && clock.ticks() < until) await schedule.sleep(10)
    const flushed = this.flush().catch(() => {
      // Said by whoever made it fail.
    })
    await Promise.race([flushed, schedule.sleep(Math.max(0, until - clock.ticks()))])
    await this.abandon()
  }

  /** Ends as it is: what is being saved is waited for, and nothing follows. Another one goes on from there. */
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
    // A shard that was just being opened again.
    await this.#open.thread.close()
    await this.#saving
    await this.#checkpoints.abandon()
    this.#open.source.close()
    this.#asks.fail(shuttingDown())
  }

  async #run(): Promise<void> {
    await this.#orRecover(() => this.#open.load(this.#alertSettings))
    while (!this.#isClosed) {
      const hasJoined = await this.#orRecover(() => this.#joining.step())
      const isIdle = this.#isClosed || (!(await this.#step()) && !hasJoined)
      if (isIdle && !this.#isClosed) await this.#latch.wait()
    }
  }

  /** Opens the shard again if this fails. */
  async #orRecover<Result>(work: () => Promise<Result>): Promise<Result | true> {
    try {
      return await work()
    } catch (error) {
      await this.#recover(error, undefined)
      return true
    }
  }

  /** One task, if there is anything to do. */
  async #step(): Promise<boolean> {
    const isOpen = this.#saving !== undefined || this.#isGivenUp
    const portion = isOpen ? undefined : this.#nextPortion()
    const isJoining = this.#joining.isUnderWay || this.#open.source.isJoining
    const isCaughtUp = !isOpen && !isJoining && portion === undefined && this.#open.source.isCaughtUp()
    if (isCaughtUp) this.#positions.caughtUp()
    const { applied, seen, covered } = this.#positions
    // Nothing may be left to read of devices that are not loaded yet.
    const asks = this.#asks.take(
      seen,
      (about = this.#holding.partitions) =>
        !this.#joining.isLoading(about) && this.#readBarrier.isReached(seen, about),
    )
    // What was gained is older than what else is read: there is no one time up to which all was.
    const sweep = isOpen || isJoining ? undefined : this.#silenceSweep.takeSweep(isCaughtUp)
    const isCheckpoint = !isOpen && this.#checkpoints.isDue(applied, covered)
    const isNeeded =
      portion !== undefined ||
      asks.length > 0 ||
      sweep !== undefined ||
      isCheckpoint ||
      this.#wants.isUntold ||
      this.#alertSettings.isUntold ||
      // How far rows reach is only told with the verdict, and somebody waits for it.
      (this.#isSaved && this.#checkpoints.isAsked)
    if (!isNeeded) return false
    const task = this.#task({ portion, asks: asks.map(({ ask }) => ask), sweep, isCheckpoint })
    const result = await this.#watchdog.run(this.#open.thread, task)
    // Of what it does while it is given up nothing is true any more.
    if (result instanceof Error || this.#isClosed) {
      this.#asks.putBack(asks)
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
    const unsaid = [...this.#unsaid]
    this.#unsaid.clear()
    return {
      kind: 'work',
      settle,
      entries: parts.portion?.entries ?? [],
      rows: parts.portion?.rows ?? true,
      asks: parts.asks,
      sweep: parts.sweep,
      unsaid,
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
    // There is room again.
    if (result.blocks.length > 0) void inserted.then(() => this.#latch.set())
    if (isCheckpoint) this.#checkpoints.take(result, inserted, [...this.#positions.covered])
    this.#host.signal({ kind: 'worked', result })
    if (task.entries.length === 0 && task.sweep === undefined) return
    const { proposal } = result
    const { entries } = task
    if (entries.length > 0) {
      this.#poison.passed()
      // What a sweep adds does not follow from the entries.
      if (task.sweep === undefined) this.#open.source.weigh(entries, recordsOf(proposal))
    }
    if (isSaveNeeded(proposal)) this.#save(proposal, entries)
    else {
      this.#saver.passed(proposal.applied)
      this.#saved(proposal, entries)
    }
  }

  /** A shard whose proposal is being saved answers questions and waits. */
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
    for (const id of this.#host.perform(proposal, this.#holding)) this.#unsaid.add(id)
  }

  #nextPortion(): Portion | undefined {
    const { inserter } = this.#ports
    const room = { isFull: inserter.isFull(), isHalfEmpty: inserter.waiting <= LIMITS.blocksWaitingMax / 2 }
    const portion = this.#open.source.next(this.#positions.covered, room)
    return portion && { ...portion, entries: this.#poison.disarm(portion.entries) }
  }

  /** Opens the shard again until it is loaded (H4). */
  async #recover(error: unknown, task: WorkTask | undefined): Promise<void> {
    // The thread may have been replaced by an empty one: nothing of it is to be used.
    await this.#open.thread.close()
    await this.#poison.died(task?.entries ?? [], this.#open.takeSuspect())
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
    // What is being saved is the old shard's: the new one must find all of it, and none of it may come later.
    await this.#saving
    await this.#checkpoints.abandon()
    this.#positions.startOver()
    this.#open.replace([...this.#holding.partitions])
    this.#joining.clear()
    void this.#readBarrier.begin(this.#open.partitions)
    this.#isSaved = false
    this.#wants.renew()
  }
}
