// A runner with memory ports and simulated time. Its shard, store and ClickHouse fail when a test says so.
import { Micros, Millis, Partition } from '../../../../schemas/ids.ts'
import { MemoryLog } from '../../../adapters/log/testing/memory.ts'
import { MemoryStore } from '../../../adapters/store/testing/memory.ts'
import { MemoryTelemetry } from '../../../adapters/telemetry/testing/memory.ts'
import { ITEM } from '../../../domain/bundle.ts'
import { partitionOf } from '../../../domain/partition.ts'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Save } from '../../../ports/store.ts'
import type { Block } from '../../../ports/telemetry.ts'
import { SimTime } from '../../../testing/time.ts'
import { Inserter } from '../../rows/inserter.ts'
import type { Proposal, ShardTask, WorkTask } from '../../shard/protocol.ts'
import { bundle, idOf, START, type TestItem } from '../../shard/testing/items.ts'
import { Runner } from '../runner.ts'
import { inlineThread } from '../thread.ts'

export const HEARTBEAT_MS = 60_000

class FailingStore extends MemoryStore {
  fails = false
  /** Makes saves fail with a fault that only a restart can end. */
  isDead = false
  saves: Save[] = []

  override async save(save: Save): Promise<void> {
    this.#mayFail()
    await super.save(save)
    this.saves.push(save)
  }

  override async checkpoint(checkpoint: Parameters<MemoryStore['checkpoint']>[0]): Promise<void> {
    this.#mayFail()
    await super.checkpoint(checkpoint)
  }

  #mayFail(): void {
    if (this.fails || this.isDead) throw new Fault('STORE_UNAVAILABLE', { retryable: !this.isDead })
  }
}

class FailingTelemetry extends MemoryTelemetry {
  isAway = false

  override async insert(block: Block): Promise<void> {
    if (this.isAway) throw new Fault('TELEMETRY_UNAVAILABLE', { retryable: true })
    await super.insert(block)
  }
}

export class RunnerBench {
  readonly time = new SimTime(START)
  readonly log: MemoryLog
  readonly store = new FailingStore({ partitionOf })
  readonly telemetry = new FailingTelemetry()
  readonly runner: Runner
  readonly performed: Proposal[] = []
  readonly fatal: unknown[] = []
  readonly tasks: WorkTask[] = []
  /** How the next work tasks fail. */
  readonly fates: ('dies before' | 'dies after' | 'hangs')[] = []
  /** Payloads that kill the thread. */
  readonly deadly = new Set<string>()
  losses = 0
  isHearing = true
  readonly #stop: () => void
  #at = 0

  constructor(log = new MemoryLog()) {
    this.log = log
    const { schedule } = this.time.newIncarnation()
    const inserter = new Inserter({
      telemetry: this.telemetry,
      schedule,
      ticks: () => this.time.ticks(),
      signal: () => {},
      park: async () => {},
    })
    const partitions = Array.from({ length: LIMITS.partitions }, (_, i) => Partition(i))
    this.runner = new Runner(
      {
        partitions,
        claims: [],
        heartbeatTimeoutMs: HEARTBEAT_MS,
        bootAt: Micros(START * 1000),
        incarnation: 'r',
      },
      {
        clock: this.time,
        schedule,
        log: this.log,
        store: this.store,
        inserter,
        openThread: (settings) => {
          // One device per task, so that a sweep over two due devices is cut.
          const thread = inlineThread({ ...settings, dueDevicesPerTaskMax: 1 }, () => 0)
          let end = (_: Error) => {}
          const hang = () =>
            new Promise<never>((_, reject) => {
              end = reject
            })
          return {
            run: (task) => this.#run(task, () => thread.run(task), hang, settings.progress),
            close: async () => end(new Error('terminated')),
          }
        },
      },
      {
        perform: (proposal) => {
          this.performed.push(proposal)
          return new Set()
        },
        fatal: (error) => this.fatal.push(error),
        horizon: () => Millis(0),
        now: () => this.time.now(),
        watermark: () => (this.isHearing ? this.time.now() : undefined),
        signal: ({ kind }) => {
          if (kind === 'shard_lost') this.losses++
        },
      },
    )
    this.#stop = schedule.every(LIMITS.sweepEveryMs, () => this.runner.sweep())
    this.runner.start()
  }

  /** Appends one entry for each item. */
  async append(...items: readonly TestItem[]): Promise<void> {
    const bundles = items.map((item) => ({ partition: partitionOf(idOf(item.id)), body: bundle([item]) }))
    await this.log.append(bundles, Micros((START + ++this.#at) * 1000))
  }

  async snapshot(id: string): Promise<unknown> {
    const deviceId = idOf(id)
    const partition = partitionOf(deviceId)
    const after = [{ partition, seq: this.log.ends()[partition] ?? 0 }]
    const snapshot = await this.runner.ask({ kind: 'snapshot', deviceId }, after)
    return snapshot?.data
  }

  /** Returns what was announced, in order. */
  announced(): readonly string[] {
    return this.performed
      .flatMap(({ feed }) => feed)
      .map((event) =>
        event.kind === 'device' ? `${event.event} ${event.view.device.id}` : `telemetry ${event.deviceId}`,
      )
  }

  /** Lets time pass without sweeps, as while the engine closes. */
  stopSweeping(): void {
    this.#stop()
  }

  async #run(
    task: ShardTask,
    work: () => ReturnType<ReturnType<typeof inlineThread>['run']>,
    hang: () => Promise<never>,
    progress: Parameters<typeof inlineThread>[0]['progress'],
  ): ReturnType<ReturnType<typeof inlineThread>['run']> {
    if (task.kind === 'load') return work()
    this.tasks.push(task)
    const fate = this.fates.shift()
    if (fate === 'hangs') return hang()
    if (fate === 'dies before') throw new Error('dies before')
    for (const { partition, seq, body } of task.entries)
      for (const payload of this.deadly) {
        const isParked = body[0] === ITEM.parked
        if (isParked || !Buffer.from(body).includes(payload)) continue
        progress.set([partition, seq, 0])
        throw new Error('deadly')
      }
    const result = await work()
    if (fate === 'dies after') throw new Error('dies after')
    return result
  }
}
