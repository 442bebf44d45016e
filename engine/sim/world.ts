// The whole engine in one thread, with memory adapters, simulated time and seeded faults: devices, a process that may
// die at any moment, a ClickHouse that may be away, and checks after every step.

import { strict as assert } from 'node:assert'
import { createHash } from 'node:crypto'
import { type DeviceId, Millis, parseDeviceId } from '../../schemas/ids.ts'
import { MemoryBlobs } from '../adapters/blobs/testing/memory.ts'
import { MemoryBroker } from '../adapters/broker/testing/memory.ts'
import { MemoryLog } from '../adapters/log/testing/memory.ts'
import { MemoryStore } from '../adapters/store/testing/memory.ts'
import { MemoryUsers } from '../adapters/users/testing/memory.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import { partitionOf } from '../domain/partition.ts'
import { CONNACK } from '../ports/broker.ts'
import type { RequestOutcome } from '../ports/engine.ts'
import type { FeedEvent } from '../ports/feed.ts'
import type { Outbound } from '../ports/outbound.ts'
import { LocalEngine } from '../runtime/engine.ts'
import { TEST_OTA } from '../runtime/ota/testing/ota-settings.ts'
import { inlineThread } from '../runtime/runner/thread.ts'
import { SimTime } from '../testing/time.ts'
import type { Witness } from './control.ts'
import { Dice } from './dice.ts'
import {
  CALM,
  type Doom,
  drawDoom,
  drawLuck,
  type FaultContext,
  faultyBroker,
  faultyLog,
  faultyStore,
  faultyTelemetry,
  isDead,
  type Luck,
} from './faults.ts'
import { faultyThread } from './faulty-thread.ts'
import { Ledger } from './ledger.ts'
import { Pledges } from './pledges.ts'
import { Rows } from './rows.ts'
import { HEARTBEAT_MS, SimulatedDevice } from './simulated-device.ts'
import { SimTelemetry } from './telemetry.ts'

/** The group of all simulated devices. */
export const GROUP = 'sim'
const STARTS_AT = Millis(Date.UTC(2026, 0, 5, 10, 20))
const NEVER = Millis(Date.UTC(2100, 0, 1))
/** The engine promises to be closed by then, whatever its ports do. */
const CLOSE_MS = 9_000

/** What a caller of the REST API was promised about a device. */
export interface Promises {
  edits: number
  isRegistered: boolean
  /** Time in ticks. */
  registeredAt: number
  isDecommissioned: boolean
  /** Revisions that an edit named as the current one. */
  readonly editedOn: Set<number>
}

export interface DeviceFamily {
  readonly type?: string
  readonly gateway?: SimulatedDevice
}

/** Listens to the feed of every process. */
export interface FeedListener {
  /** Another process begins. */
  startOver(): void
  hear(events: readonly FeedEvent[]): void
}

/** Is told of alerts by every process. */
export interface Receiver {
  /** Another process begins. */
  startOver(): void
  /** Ways out of one process. */
  outbound(context: FaultContext): Outbound
}

/** One incarnation of the service's process. */
interface Process {
  readonly engine: LocalEngine
  readonly broker: MemoryBroker
  readonly after: (ms: number, run: () => void) => void
  readonly end: () => void
}

export class World {
  readonly dice: Dice
  readonly time = new SimTime(STARTS_AT)
  readonly rows = new Rows()
  readonly devices: SimulatedDevice[] = []
  readonly promised = new Map<DeviceId, Promises>()
  readonly violations: string[] = []
  readonly trace: string[] = []
  /** The steps at which the process died. */
  readonly deaths: string[] = []
  luck: Luck
  readonly #doom: Doom
  readonly ledger = new Ledger(this.rows, (what) => this.violate(what))
  readonly pledges = new Pledges()
  #listener: FeedListener | undefined
  #receiver: Receiver | undefined
  #log = new MemoryLog()
  #store = new MemoryStore({ partitionOf })
  #users = new MemoryUsers()
  readonly #telemetry = new SimTelemetry(this.rows)
  readonly #blobs = new MemoryBlobs()
  #process: Process | undefined
  #clickHouseIsUp = true
  #ids = 0

  constructor(seed: number) {
    this.dice = new Dice(seed)
    this.luck = drawLuck(this.dice)
    this.#doom = drawDoom(this.dice)
  }

  get process(): Process | undefined {
    return this.#process
  }

  get store(): MemoryStore {
    return this.#store
  }

  /** The trace's fingerprint, which is the same in every run of a seed. */
  hash(): string {
    return createHash('sha256').update(this.trace.join('\n')).digest('hex')
  }

  say(line: string): void {
    this.trace.push(`${Math.round(this.time.ticks())} ${line}`)
  }

  violate(what: string): void {
    this.say(`VIOLATION ${what}`)
    this.violations.push(what)
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
    const telemetry = faultyTelemetry(this.#telemetry, context, { isUp: () => this.#clickHouseIsUp })
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
      // Partitions change shards from one incarnation to the next.
      {
        shards: this.dice.between(1, 3),
        listens: true,
        heartbeatTimeoutMs: HEARTBEAT_MS,
        ota: TEST_OTA,
        build: { version: 'sim', commit: 'sim' },
      },
      {
        schedule: incarnation.schedule,
        openThread: (settings) =>
          faultyThread(
            inlineThread(settings, () => 0),
            settings.progress,
            context,
          ),
        newId: () => `r${this.#ids++}`,
        dice: () => this.dice.roll(),
        warn: () => {},
        fatal: (error) => this.violate(`fatal: ${error instanceof Error ? error.stack : String(error)}`),
        admit: async ({ clientId }) => this.#admit(clientId),
      },
    )
    const process: Process = { engine, broker, after: incarnation.schedule.after, end: incarnation.end }
    this.#process = process
    this.#listener?.startOver()
    this.#receiver?.startOver()
    const all = { all: true, devices: new Set<never>() }
    engine.feed.want({ telemetry: all, timeline: all, log: all })
    engine.feed.listen((events) => {
      // A dead process reaches no listener.
      if (isDead(context, 'before it tells')) return
      this.#listener?.hear(events)
      isDead(context, 'after it told')
    })
    await engine.open()
    this.say('started')
  }

  /** Kills the process as kill -9 does. What was durable stays. */
  crash(): void {
    this.#process?.end()
    this.#process = undefined
    this.#log = this.#log.crash()
    this.#store = this.#store.crash()
    this.#users = this.#users.crash()
    for (const device of this.devices) device.session = undefined
    this.say('crashed')
  }

  /** Ends the process as SIGTERM does. It must close in time. */
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
    // It may also have died meanwhile.
    if (this.#process !== process) return
    if (isClosed) await closing
    else this.violate('it does not stop')
    this.crash()
  }

  /** True if something in the log is not applied yet. */
  isBehind(): boolean {
    const [applied, inserted] = [this.#store.applied(), this.#store.inserted()]
    return this.#log
      .ends()
      .some((end, partition) => end > Math.max(applied[partition] ?? 0, inserted[partition] ?? 0))
  }

  /** Entries that a restart would read again. */
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

  /** Registers devices in few partitions only, so that many share one. */
  register(isSteady: boolean, { type = 'mqtt_device', gateway }: DeviceFamily = {}): SimulatedDevice {
    let id: DeviceId | undefined
    for (let i = 1; id === undefined; i++) {
      const named = parseDeviceId(`dev-${i}`)
      if (named !== undefined && !this.promised.has(named) && partitionOf(named) < 4) id = named
    }
    this.promised.set(id, {
      edits: 0,
      isRegistered: false,
      registeredAt: Number.POSITIVE_INFINITY,
      isDecommissioned: false,
      editedOn: new Set(),
    })
    const { dice, time, ledger } = this
    const witness: Witness = {
      commandOf: (deviceId, commandId) => ledger.commandOf(deviceId, commandId),
      shadowOf: (deviceId) => ledger.shadowOf(deviceId),
      isGone: (deviceId) => this.#store.devices.get(deviceId)?.status === 'decommissioned',
      violate: (what) => this.violate(what),
    }
    const options = { isSteady, dice, time, luck: () => this.luck, witness, gateway }
    const device = new SimulatedDevice(id, options)
    this.devices.push(device)
    this.tryRegister(device, type)
    return device
  }

  tryRegister({ id, gateway }: SimulatedDevice, type: string): void {
    const wish = { kind: 'register', name: id, type, group: GROUP, parentId: gateway?.id } as const
    this.request(id, wish, (promised) => {
      promised.isRegistered = true
      promised.registeredAt = Math.min(promised.registeredAt, this.time.ticks())
    })
  }

  /** A caller who gets no answer, or a refusal, was promised nothing. */
  request(
    id: DeviceId,
    wish: DeviceRequest,
    done: (promised: Promises, answer: RequestOutcome) => void,
  ): void {
    const promised = this.promised.get(id)
    const process = this.#process
    if (promised === undefined || process === undefined) return
    process.engine.submit(id, wish, { by: { kind: 'user', id: 'usr_sim' } }).then(
      (answer) => {
        // The process died before it could answer.
        if (this.#process !== process) return
        this.say(`${id} ${wish.kind} ${answer.kind}`)
        const isThere = answer.kind === 'refused' && answer.code === 'ALREADY_EXISTS'
        if (answer.kind === 'done' || isThere) done(promised, answer)
      },
      () => this.say(`${id} ${wish.kind} unknown`),
    )
  }

  #admit(clientId: string) {
    const deviceId = parseDeviceId(clientId)
    const device = deviceId === undefined ? undefined : this.#store.devices.get(deviceId)
    if (deviceId === undefined || device === undefined || device.status === 'decommissioned')
      return { kind: 'denied', code: CONNACK.unauthorized, reason: 'sim' } as const
    return {
      kind: 'admitted',
      deviceId,
      partition: partitionOf(deviceId),
      mayPublish: true,
      maySubscribe: true,
      expiresAt: NEVER,
    } as const
  }
}
