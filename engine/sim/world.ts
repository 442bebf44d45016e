// The whole engine in one thread, with memory adapters, simulated time and seeded faults: devices, a process that may
// die at any moment, a ClickHouse that may be away, and checks after every step.

import { strict as assert } from 'node:assert'
import { createHash } from 'node:crypto'
import { type DeviceId, Millis, parseDeviceId } from '../../schemas/ids.ts'
import { MemoryBroker } from '../adapters/broker/memory.ts'
import { MemoryLog } from '../adapters/log/memory.ts'
import { MemoryStore } from '../adapters/store/memory.ts'
import { MemoryTelemetry } from '../adapters/telemetry/memory.ts'
import { MemoryUsers } from '../adapters/users/memory.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import { CONNACK } from '../ports/broker.ts'
import type { FeedEvent } from '../ports/feed.ts'
import { LocalEngine } from '../runtime/engine.ts'
import { partitionOf } from '../runtime/partition.ts'
import { inlineThread } from '../runtime/thread.ts'
import { Dice } from './dice.ts'
import {
  drawLuck,
  type FaultContext,
  faultyLog,
  faultyStore,
  faultyTelemetry,
  faultyThread,
  type Luck,
} from './faults.ts'
import { Rows } from './rows.ts'
import { SimulatedDevice } from './simulated-device.ts'
import { SimTime } from './time.ts'

export const HEARTBEAT_MS = 60_000
const STARTS_AT = Millis(Date.UTC(2026, 0, 5, 10, 20))
const NEVER = Millis(Date.UTC(2100, 0, 1))

/** What a caller of the REST API was promised. */
export interface Promised {
  edits: number
  isRegistered: boolean
  isDecommissioned: boolean
}

/** One life of the service's process. */
interface Process {
  readonly engine: LocalEngine
  readonly broker: MemoryBroker
  readonly end: () => void
}

export class World {
  readonly dice: Dice
  readonly time = new SimTime(STARTS_AT)
  readonly rows = new Rows()
  readonly devices: SimulatedDevice[] = []
  readonly promised = new Map<DeviceId, Promised>()
  readonly violations: string[] = []
  readonly trace: string[] = []
  luck: Luck
  #log = new MemoryLog()
  #store = new MemoryStore({ partitionOf })
  #users = new MemoryUsers()
  readonly #telemetry = new MemoryTelemetry()
  #process: Process | undefined
  #clickHouseIsUp = true
  #ids = 0

  constructor(seed: number) {
    this.dice = new Dice(seed)
    this.luck = drawLuck(this.dice)
  }

  get process(): Process | undefined {
    return this.#process
  }

  get store(): MemoryStore {
    return this.#store
  }

  /** The trace's fingerprint: two runs of a seed agree byte for byte. */
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

  async start(): Promise<void> {
    assert(this.#process === undefined, 'one process at a time')
    const life = this.time.newLife()
    const context: FaultContext = {
      dice: this.dice,
      luck: () => this.luck,
      schedule: life.schedule,
      trace: (line) => this.say(line),
    }
    const broker = new MemoryBroker()
    const telemetry = faultyTelemetry(this.#telemetry, context, {
      isUp: () => this.#clickHouseIsUp,
      inserted: (block) => this.rows.add(block),
    })
    const store = faultyStore(this.#store, context)
    const engine = new LocalEngine(
      { clock: this.time, log: faultyLog(this.#log, context), store, users: this.#users, telemetry, broker },
      { shards: 2, heartbeatTimeoutMs: HEARTBEAT_MS, build: { version: 'sim', commit: 'sim' } },
      {
        schedule: life.schedule,
        openThread: (settings) =>
          faultyThread(
            inlineThread(settings, () => 0),
            context,
          ),
        newId: () => `r${this.#ids++}`,
        warn: () => {},
        admit: async ({ clientId }) => this.#admit(clientId),
      },
    )
    this.#process = { engine, broker, end: life.end }
    engine.feed.listen((events) => this.#heardFeed(events))
    await engine.open()
    this.say('started')
  }

  /** kill -9. What was durable stays. */
  crash(): void {
    this.#process?.end()
    this.#process = undefined
    this.#log = this.#log.crash()
    this.#store = this.#store.crash()
    this.#users = this.#users.crash()
    for (const device of this.devices) device.session = undefined
    this.say('crashed')
  }

  setClickHouse(isUp: boolean): void {
    this.#clickHouseIsUp = isUp
    this.say(`clickhouse ${isUp ? 'up' : 'down'}`)
  }

  calm(): void {
    this.luck = {
      appendFails: 0,
      saveFails: 0,
      insertFails: 0,
      shardDies: 0,
      crashes: 0,
      pauses: 0,
      delayMsMax: 0,
    }
    this.setClickHouse(true)
    this.say('calm')
  }

  async register(isSteady: boolean): Promise<void> {
    const id = parseDeviceId(`dev-${this.devices.length + 1}`)
    assert(id !== undefined)
    this.promised.set(id, { edits: 0, isRegistered: false, isDecommissioned: false })
    this.devices.push(new SimulatedDevice(id, { isSteady, dice: this.dice, time: this.time }))
    this.request(id, { kind: 'register', name: id, type: 'mqtt_device' }, (promised) => {
      promised.isRegistered = true
    })
  }

  /** A caller who hears nothing, or a refusal, was promised nothing. */
  request(id: DeviceId, wish: DeviceRequest, done: (promised: Promised) => void): void {
    const promised = this.promised.get(id)
    const submitted = this.#process?.engine.submit(id, wish, 'usr_sim')
    if (promised === undefined || submitted === undefined) return
    submitted.then(
      (answer) => {
        this.say(`${id} ${wish.kind} ${answer.kind}`)
        const isThere = answer.kind === 'refused' && answer.code === 'ALREADY_EXISTS'
        if (answer.kind === 'done' || isThere) done(promised)
      },
      () => this.say(`${id} ${wish.kind} unknown`),
    )
  }

  #admit(clientId: string) {
    const deviceId = parseDeviceId(clientId)
    const device = deviceId === undefined ? undefined : this.#store.get(deviceId)
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

  #heardFeed(events: readonly FeedEvent[]): void {
    for (const event of events) {
      if (event.kind !== 'device') continue
      const { device } = event.view
      this.say(`feed ${event.event} ${device.id} ${device.status} r${device.revision}`)
      // Effects never come before their save (R4).
      const saved = this.#store.get(device.id)
      if (event.event !== 'device.connectivity' && (saved === undefined || saved.revision < device.revision))
        this.violate(`${device.id} was announced at revision ${device.revision} before it was saved`)
      const isFalse = device.status === 'offline' && device.statusReason === 'no heartbeat'
      if (isFalse && event.event === 'device.status' && this.#isSteady(device.id))
        this.violate(`${device.id} publishes steadily and was declared silent`)
    }
  }

  #isSteady(id: DeviceId): boolean {
    return this.devices.some((device) => device.id === id && device.isSteady && device.isConnected())
  }
}
