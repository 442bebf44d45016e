// One shard of this node: a runner for the partitions that this node owns, and a new runner when it loses some.
//
// - A runner that gains partitions keeps working on the others while it takes up the new ones, so nothing of this node
//   waits when another node dies.
// - A runner that loses partitions ends. The next one begins with the store and the log, as after a crash
//   (runner H4).
// S2. The next runner begins after the earlier one's last save and after its own claim. So it finds everything that an
//     earlier owner saved, and no later save of that owner is accepted (R2).
// - Questions wait during a change. Questions about partitions of other nodes are refused.

import type { Partition } from '../../../schemas/ids.ts'
import type { AlertSettings } from '../../domain/alert/rule-book.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { Wants } from '../../ports/feed.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Claim, Records } from '../../ports/store.ts'
import type { NodeFigures } from '../../ports/system.ts'
import type { Question } from '../fan-out.ts'
import type { AnswerOf, Ask } from '../shard/protocol.ts'
import type { ShardSignal } from '../signals.ts'
import type { Runner } from './runner.ts'
import { toFault } from './saver.ts'

type ShardRunner = Pick<
  Runner,
  'start' | 'ask' | 'gain' | 'want' | 'rule' | 'sweep' | 'flush' | 'backlog' | 'lags' | 'close' | 'abandon'
>

export interface AssignmentPorts {
  readonly store: Pick<Records, 'claim'>
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'sleep'>
  /** Calls `fenced` when a later owner has claimed one of the runner's partitions. */
  readonly open: (claims: readonly Claim[], fenced: () => void) => ShardRunner
  readonly signal: (signal: ShardSignal) => void
}

/** Time for a last checkpoint, which leaves the next owner less to read. */
const FLUSH_MS = 2_000
const WAIT_MS = 5_000

export class Assignment {
  readonly #ports: AssignmentPorts
  readonly #owned = new Map<Partition, number>()
  #runner: ShardRunner | undefined
  /** The runner's partitions, with their epochs. */
  #assigned: ReadonlyMap<Partition, number> = new Map()
  #isFenced = false
  #isFlushing = false
  #changing: Promise<void> | undefined
  #wants: Wants | undefined
  #alertSettings: AlertSettings | undefined

  constructor(ports: AssignmentPorts) {
    this.#ports = ports
  }

  gain(claims: readonly Claim[]): void {
    for (const { partition, epoch } of claims) this.#owned.set(partition, epoch)
    void this.#change()
  }

  /** Gives the partitions up at once. */
  lose(partitions: readonly Partition[]): void {
    const lost = partitions.filter((partition) => this.#owned.delete(partition))
    if (lost.some((partition) => this.#assigned.has(partition))) void this.#end()
    void this.#change()
  }

  /** Resolves once nothing more is done for these partitions. One that is lost meanwhile and gained again stays. */
  async handOver(partitions: readonly Partition[]): Promise<void> {
    const epochs = new Map(this.#owned)
    await this.#flush()
    this.lose(partitions.filter((partition) => this.#owned.get(partition) === epochs.get(partition)))
    await this.#change()
  }

  /** Answers from the devices of these partitions. */
  async ask<A extends Ask>({ ask, after, partitions }: Question<A>): Promise<AnswerOf<A>> {
    const { clock } = this.#ports
    for (const until = clock.ticks() + WAIT_MS; ; ) {
      const runner = await this.#runnerOf(until, partitions)
      try {
        return await runner.ask(ask, after, partitions.length < this.#owned.size ? partitions : undefined)
      } catch (error) {
        const isOver = this.#runner === runner || clock.ticks() >= until
        if (isOver || !(error instanceof Fault && error.code === 'SHARD_LOST')) throw error
      }
    }
  }

  /** Resolves once a runner has all partitions that this node owns. */
  async settled(): Promise<void> {
    await this.#changing
  }

  want(wants: Wants): void {
    this.#wants = wants
    this.#runner?.want(wants)
  }

  rule(settings: AlertSettings): void {
    this.#alertSettings = settings
    this.#runner?.rule(settings)
  }

  sweep(): void {
    this.#runner?.sweep()
  }

  backlog(): number {
    return this.#runner?.backlog() ?? 0
  }

  /** How far each owned partition is behind the log. */
  lags(): NodeFigures['partitions'] {
    const known = new Map(this.#runner?.lags().map(({ partition, lagMs }) => [partition, lagMs]))
    return [...this.#owned.keys()].map((partition) => ({ partition, lagMs: known.get(partition) }))
  }

  /** Resolves like the runner's `flush`, after a change that is under way. */
  async flush(): Promise<void> {
    await this.settled()
    await this.#runner?.flush()
  }

  async close(deadlineMs: number): Promise<void> {
    await this.settled()
    const runner = this.#runner
    this.#owned.clear()
    this.#runner = undefined
    await runner?.close(deadlineMs)
  }

  /** The runner, once it has all of these partitions. An earlier runner does not know their devices. */
  async #runnerOf(until: number, partitions: readonly Partition[]): Promise<ShardRunner> {
    const { clock, schedule } = this.#ports
    for (;;) {
      if (!partitions.every((partition) => this.#owned.has(partition))) throw notOwned()
      const isAssigned = partitions.every((each) => this.#assigned.get(each) === this.#owned.get(each))
      if (this.#runner !== undefined && isAssigned) return this.#runner
      const leftMs = until - clock.ticks()
      if (leftMs <= 0 || this.#changing === undefined)
        throw new Fault('SHARD_LOST', { retryable: true, message: 'the shard is changing its partitions' })
      await Promise.race([this.#changing, schedule.sleep(leftMs)])
    }
  }

  /** Resolves once a runner has what this node owns. Changes run one at a time, and one that runs includes later calls. */
  #change(): Promise<void> {
    this.#changing ??= this.#reassign().finally(() => {
      this.#changing = undefined
    })
    return this.#changing
  }

  async #reassign(): Promise<void> {
    const { store, schedule, signal, open } = this.#ports
    while (this.#isFenced || !isSame(this.#assigned, this.#owned)) {
      const runner = this.#runner
      if (runner !== undefined && this.#isGrowing()) {
        await this.#extend(runner)
        continue
      }
      if (runner !== undefined && !this.#isFenced) await this.#flush()
      await this.#end()
      const owned = new Map(this.#owned)
      const claims = [...owned].map(([partition, epoch]) => ({ partition, epoch }))
      this.#isFenced = false
      this.#assigned = owned
      if (claims.length === 0) continue
      try {
        await store.claim(claims)
      } catch (error) {
        signal({ kind: 'claim_failed', fault: toFault(error) })
        this.#isFenced = true
        await schedule.sleep(LIMITS.claimRetryMs)
        continue
      }
      if (!isSame(owned, this.#owned)) continue
      const next: ShardRunner = open(claims, () => {
        if (this.#runner === next) this.#fence()
      })
      this.#begin(next)
    }
  }

  /** Whether this node still owns everything that the runner has. */
  #isGrowing(): boolean {
    return (
      !this.#isFenced &&
      [...this.#assigned].every(([partition, epoch]) => this.#owned.get(partition) === epoch)
    )
  }

  async #extend(runner: ShardRunner): Promise<void> {
    const { store, schedule, signal } = this.#ports
    const claims = [...this.#owned]
      .filter(([partition]) => !this.#assigned.has(partition))
      .map(([partition, epoch]) => ({ partition, epoch }))
    try {
      await store.claim(claims)
    } catch (error) {
      signal({ kind: 'claim_failed', fault: toFault(error) })
      return schedule.sleep(LIMITS.claimRetryMs)
    }
    if (this.#runner !== runner) return
    const gained = claims.filter(({ partition, epoch }) => this.#owned.get(partition) === epoch)
    this.#assigned = new Map([
      ...this.#assigned,
      ...gained.map(({ partition, epoch }) => [partition, epoch] as const),
    ])
    runner.gain(gained)
  }

  #begin(runner: ShardRunner): void {
    this.#runner = runner
    if (this.#wants !== undefined) runner.want(this.#wants)
    if (this.#alertSettings !== undefined) runner.rule(this.#alertSettings)
    runner.start()
  }

  /** The runner cannot save any more. The component that decides about ownership will say why. */
  #fence(): void {
    this.#isFenced = true
    void this.#end()
    void this.#change()
  }

  async #flush(): Promise<void> {
    if (this.#runner === undefined || this.#isFlushing) return
    this.#isFlushing = true
    const flushed = this.#runner.flush().catch(() => {
      // Reported where it failed. All it means here is that the next runner has more to read.
    })
    await Promise.race([flushed, this.#ports.schedule.sleep(FLUSH_MS)])
    this.#isFlushing = false
  }

  #ending: Promise<void> = Promise.resolve()

  /** Resolves once the runner has nothing under way (S2). */
  #end(): Promise<void> {
    const runner = this.#runner
    if (runner !== undefined) {
      this.#runner = undefined
      const ended = runner.abandon()
      this.#ending = this.#ending.then(() => ended)
    }
    return this.#ending
  }
}

export function notOwned(): Fault {
  return new Fault('NOT_OWNED', {
    retryable: true,
    message: 'the partition of this device has no owner just now',
  })
}

function isSame(one: ReadonlyMap<Partition, number>, other: ReadonlyMap<Partition, number>): boolean {
  return one.size === other.size && [...one].every(([partition, epoch]) => other.get(partition) === epoch)
}
