// Runs the whole engine in one thread, with memory adapters, simulated time and faults that follow from the seed. The
// process may die at any moment, and ClickHouse may be away.

import { strict as assert } from 'node:assert'
import { MemoryBlobs } from '../adapters/blobs/testing/memory.ts'
import { MemoryBroker } from '../adapters/broker/testing/memory.ts'
import { MemoryLog } from '../adapters/log/testing/memory.ts'
import { MemoryStore } from '../adapters/store/testing/memory.ts'
import { MemoryUsers } from '../adapters/users/testing/memory.ts'
import { partitionOf } from '../domain/partition.ts'
import type { Outbound } from '../ports/outbound.ts'
import { LocalEngine } from '../runtime/engine.ts'
import { TEST_OTA } from '../runtime/ota/testing/ota-settings.ts'
import { BaseWorld, type CallHost, type FeedListener } from './base-world.ts'
import {
  CALM,
  type Doom,
  drawDoom,
  type FaultContext,
  faultyBroker,
  faultyLog,
  faultyStore,
  faultyTelemetry,
  isDead,
} from './faults.ts'
import { openFaultyThread } from './faulty-thread.ts'
import { HEARTBEAT_MS } from './simulated-device.ts'
import { SimTelemetry } from './telemetry.ts'

const RETENTION_MS = 30_000
/** The engine promises to close within this time, whatever its ports do. */
const CLOSE_MS = 9_000

/** Receives notifications of alerts from every process. */
export interface Receiver {
  /** A new process has started. */
  startOver(): void
  /** Returns the outbound port of one process. */
  outbound(context: FaultContext): Outbound
}

/** One incarnation of the service's process. */
interface Process extends CallHost {
  readonly broker: MemoryBroker
  readonly end: () => void
}

export class World extends BaseWorld {
  /** The steps at which the process died. */
  readonly deaths: string[] = []
  readonly #doom: Doom
  #listener: FeedListener | undefined
  #receiver: Receiver | undefined
  #log: MemoryLog
  #store = new MemoryStore({ partitionOf })
  #users = new MemoryUsers()
  readonly #telemetry = new SimTelemetry(this.rows)
  readonly #blobs = new MemoryBlobs()
  #process: Process | undefined
  #clickHouseIsUp = true
  #ids = 0

  constructor(seed: number) {
    super(seed)
    this.#doom = drawDoom(this.dice)
    // Most logs remove settled entries during the run. Some have little room, but enough for the largest append.
    const retention = this.dice.chance(0.7) ? { retentionMs: RETENTION_MS } : {}
    const room = this.dice.chance(0.3) ? { bytesMax: this.dice.between(80_000, 200_000) } : {}
    this.#log = new MemoryLog({ ...retention, ...room })
  }

  override get process(): Process | undefined {
    return this.#process
  }

  override get store(): MemoryStore {
    return this.#store
  }

  override async settle(): Promise<void> {
    await this.#process?.engine.settleRollups()
  }

  listen(listener: FeedListener): void {
    this.#listener = listener
  }

  notify(receiver: Receiver): void {
    this.#receiver = receiver
  }

  async start(): Promise<void> {
    assert(this.#process === undefined, 'one process at a time')
    const timers = this.time.newIncarnation()
    let isOver = false
    const incarnation = {
      schedule: timers.schedule,
      end: () => {
        isOver = true
        timers.end()
      },
    }
    const context: FaultContext = {
      dice: this.dice,
      luck: () => this.luck,
      doom: this.#doom,
      schedule: incarnation.schedule,
      trace: (line) => this.say(line),
      die: (where) => {
        if (this.#process?.end !== incarnation.end) return
        this.say(`dies ${where}`)
        this.deaths.push(where)
        this.crash()
      },
      isOver: () => isOver,
    }
    const broker = new MemoryBroker()
    const telemetry = faultyTelemetry(this.#telemetry, context, () => this.#clickHouseIsUp)
    const engine = new LocalEngine(
      {
        clock: this.time,
        log: faultyLog(this.#log, context, this.ledger),
        store: faultyStore(this.#store, context, this.ledger),
        users: this.#users,
        telemetry,
        broker: faultyBroker(broker, context),
        blobs: this.#blobs,
        outbound: this.#receiver?.outbound(context),
      },
      // A new incarnation may have another number of shards, so partitions move between shards.
      {
        shards: this.dice.between(1, 3),
        listens: true,
        heartbeatTimeoutMs: HEARTBEAT_MS,
        ota: TEST_OTA,
        build: { version: 'sim', commit: 'sim' },
      },
      {
        schedule: incarnation.schedule,
        openThread: (settings) => openFaultyThread(settings, context),
        newId: () => `r${this.#ids++}`,
        dice: () => this.dice.roll(),
        warn: () => {},
        fatal: (error) => this.violate(`fatal: ${error instanceof Error ? error.stack : String(error)}`),
        admit: async ({ clientId }) => this.admit(clientId),
      },
    )
    const process: Process = {
      engine,
      broker,
      after: incarnation.schedule.after,
      end: incarnation.end,
      isOver: () => isOver,
    }
    this.#process = process
    this.#listener?.startOver()
    this.#receiver?.startOver()
    const all = { all: true, devices: new Set<never>() }
    engine.feed.want({ telemetry: all, timeline: all, log: all })
    engine.feed.listen((events) => {
      // A dead process no longer reaches listeners.
      if (isDead(context, 'before it tells')) return
      this.#listener?.hear(events)
      isDead(context, 'after it told')
    })
    await engine.open()
    this.say('started')
  }

  /** Ends the process like kill -9. Durable data is kept. */
  crash(): void {
    this.#process?.end()
    this.#process = undefined
    this.#log = this.#log.crash()
    this.#store = this.#store.crash()
    this.#users = this.#users.crash()
    for (const device of this.devices) device.session = undefined
    this.say('crashed')
  }

  /** Ends the process like SIGTERM. It must close in time. */
  async stop(): Promise<void> {
    const process = this.#process
    if (process === undefined) return
    this.say('stopping')
    let isClosed = false
    const closing = process.engine.close().then(() => {
      isClosed = true
    })
    for (let waited = 0; waited < CLOSE_MS && !isClosed && this.#process === process; waited += 100)
      await this.time.advance(100)
    // The process may have died meanwhile.
    if (this.#process !== process) return
    if (isClosed) await closing
    else this.violate('the engine does not close in time')
    this.crash()
  }

  /** True while entries of the log are not applied yet. */
  isBehind(): boolean {
    const [applied, inserted] = [this.#store.applied(), this.#store.inserted()]
    return this.#log
      .ends()
      .some((end, partition) => end > Math.max(applied[partition] ?? 0, inserted[partition] ?? 0))
  }

  /** Returns how many entries a restart would read again. */
  rereads(): number {
    const inserted = this.#store.inserted()
    return this.#log.ends().reduce((sum, end, partition) => sum + end - (inserted[partition] ?? 0), 0)
  }

  setClickHouse(isUp: boolean): void {
    this.#clickHouseIsUp = isUp
    this.say(`clickhouse ${isUp ? 'up' : 'down'}`)
  }

  calm(): void {
    this.luck = CALM
    this.time.setRight()
    this.setClickHouse(true)
    this.say('calm')
  }
}
