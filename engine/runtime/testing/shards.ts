// For tests: nodes with shards over one store and one log in simulated time.
import { type DeviceId, Micros, Millis, type Partition } from '../../../schemas/ids.ts'
import { MemoryLog } from '../../adapters/log/testing/memory.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { MemoryTelemetry } from '../../adapters/telemetry/testing/memory.ts'
import { partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Log } from '../../ports/log.ts'
import type { Claim, Save } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { Inserter } from '../rows/inserter.ts'
import { Assignment } from '../runner/assignment.ts'
import { Runner } from '../runner/runner.ts'
import { inlineThread } from '../runner/thread.ts'
import type { Proposal } from '../shard/protocol.ts'
import { bundle, idOf, START, type TestItem } from '../shard/testing/items.ts'
import { Shards } from '../shards.ts'

/** The store, log and clock that the nodes share. */
export class SharedPlace {
  readonly time = new SimTime(START)
  readonly log = new MemoryLog()
  readonly store = new MemoryStore({ partitionOf })
  readonly telemetry = new MemoryTelemetry()
  #at = 0

  async append(...items: readonly TestItem[]): Promise<void> {
    const bundles = items.map((item) => ({ partition: partitionOf(idOf(item.id)), body: bundle([item]) }))
    await this.log.append(bundles, Micros((START + ++this.#at) * 1000))
  }
}

export class ShardsNode {
  readonly shards: Shards
  readonly performed: Proposal[] = []
  readonly warnings: string[] = []
  isCertain = true
  /** While true, saves wait. */
  isStuck = false
  /** While true, saves are carried out but not answered. */
  isAnswerHeld = false
  /** While true, entries of the log are read late. */
  isBehind = false
  /** While set, this partition is not read, nor are others that share its reader. */
  unread: Partition | undefined
  /** While true, devices are loaded late. */
  isLoadHeld = false
  /** Performs a proposal that was saved under these claims. Calls `heldBack` for what it may not send. */
  perform: (proposal: Proposal, claims: readonly Claim[], heldBack: (id: DeviceId) => void) => void = () => {}
  readonly #place: SharedPlace
  #incarnations = 0

  constructor(name: string, place: SharedPlace, shardCount = 2) {
    this.#place = place
    const { schedule } = place.time.newIncarnation()
    const inserter = new Inserter({
      telemetry: place.telemetry,
      schedule,
      ticks: () => place.time.ticks(),
      signal: () => {},
      park: async () => {},
    })
    const save = async (what: Save) => {
      while (this.isStuck) await schedule.sleep(10)
      await place.store.save(what)
      while (this.isAnswerHeld) await schedule.sleep(10)
    }
    const load = async function* (this: ShardsNode, partitions: readonly Partition[]) {
      while (this.isLoadHeld) await schedule.sleep(10)
      yield* place.store.load(partitions)
    }.bind(this)
    const store = new Proxy(place.store, {
      get: (target, key) => {
        if (key === 'save') return save
        if (key === 'load') return load
        const value: unknown = Reflect.get(target, key)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const log: Log = {
      append: (bundles, latestAt) => place.log.append(bundles, latestAt),
      reader: (partitions, from) => {
        const reader = place.log.reader(partitions, from)
        const pull = async (bytesMax: number) => {
          while (this.isBehind || (this.unread !== undefined && partitions.includes(this.unread)))
            await schedule.sleep(10)
          return reader.pull(bytesMax)
        }
        return { pull, isCaughtUp: () => reader.isCaughtUp(), close: () => reader.close() }
      },
      ends: () => place.log.ends(),
      readEnds: () => place.log.readEnds(),
      latestAt: () => place.log.latestAt(),
      size: () => place.log.size(),
      trim: (upTo) => place.log.trim(upTo),
      close: () => place.log.close(),
    }
    const open = (claims: readonly Claim[], fenced: () => void) =>
      new Runner(
        {
          partitions: claims.map(({ partition }) => partition),
          claims,
          heartbeatTimeoutMs: 60_000,
          bootAt: Micros(0),
          incarnation: `${name}-${this.#incarnations++}`,
        },
        {
          clock: place.time,
          schedule,
          log,
          store,
          inserter,
          openThread: (settings) => inlineThread(settings, () => 0),
        },
        {
          perform: (proposal, holding, heldBack) => {
            this.performed.push(proposal)
            this.perform(proposal, holding.claims, heldBack)
          },
          fatal: (error) => {
            if (!(error instanceof Fault && error.code === 'STORE_FENCED')) throw error
            this.warnings.push('fenced')
            fenced()
          },
          horizon: () => Millis(0),
          now: () => place.time.now(),
          watermark: () => place.time.now(),
          signal: () => {},
        },
      )
    const assignment = () =>
      new Assignment({
        store: place.store,
        clock: place.time,
        schedule,
        open,
        signal: () => {},
      })
    this.shards = new Shards(Array.from({ length: shardCount }, assignment), () => this.isCertain)
    schedule.every(LIMITS.sweepEveryMs, () => this.shards.sweep())
  }

  /** The device's name as a caller of REST would get it. */
  async nameOf(id: string): Promise<string | undefined> {
    const deviceId = idOf(id)
    const partition = partitionOf(deviceId)
    const after = [{ partition, seq: this.#place.log.ends()[partition] ?? 0 }]
    const [view] = await this.shards.ask({
      ask: { kind: 'views', deviceIds: [deviceId] },
      after,
      partitions: [partition],
    })
    return view?.device.name
  }

  /** The ids of the requests that were answered here, in order. */
  replied(): readonly string[] {
    return this.performed.flatMap(({ replies }) => replies.map(({ requestId }) => requestId))
  }
}
