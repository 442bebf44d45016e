// What a simulated run is about, whether one process or several serve it: devices, callers of the REST API, what they were
// promised, and what must therefore be true.

import { createHash } from 'node:crypto'
import { type DeviceId, Millis, type Partition, parseDeviceId } from '../../schemas/ids.ts'
import type { MemoryStore } from '../adapters/store/testing/memory.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import { partitionOf } from '../domain/partition.ts'
import { type Admission, CONNACK } from '../ports/broker.ts'
import type { RequestOutcome } from '../ports/engine.ts'
import type { FeedEvent } from '../ports/feed.ts'
import type { LocalEngine } from '../runtime/engine.ts'
import { SimTime } from '../testing/time.ts'
import type { Witness } from './control.ts'
import { Dice } from './dice.ts'
import { drawLuck, type Luck } from './faults.ts'
import { Ledger } from './ledger.ts'
import { Pledges } from './pledges.ts'
import { Rows } from './rows.ts'
import { SimulatedDevice } from './simulated-device.ts'

/** The group of all simulated devices. */
export const GROUP = 'sim'
/** So few that sweeps are cut, and that nodes die in between. */
export const DUE_DEVICES_PER_TASK_MAX = 2
const STARTS_AT = Millis(Date.UTC(2026, 0, 5, 10, 20))
const NEVER = Millis(Date.UTC(2100, 0, 1))

/** What a caller of the REST API was promised about a device. */
export interface Promises {
  edits: number
  /** The last edit that named no revision. */
  plainEdits: number
  isRegistered: boolean
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
  /** These partitions have another owner, who reads again what the one before had read and saved nothing of. */
  takenOver(partitions: ReadonlySet<Partition>): void
  hear(events: readonly FeedEvent[]): void
}

/** A process that serves callers. */
export interface CallHost {
  readonly engine: LocalEngine
  readonly after: (ms: number, run: () => void) => void
  /** True once it is dead: whoever waited for an answer gets none. */
  readonly isOver: () => boolean
}

export abstract class Place {
  readonly dice: Dice
  readonly time = new SimTime(STARTS_AT)
  readonly rows = new Rows()
  readonly devices: SimulatedDevice[] = []
  readonly promised = new Map<DeviceId, Promises>()
  readonly violations: string[] = []
  readonly trace: string[] = []
  luck: Luck
  readonly ledger = new Ledger(this.rows, (what) => this.violate(what))
  readonly pledges = new Pledges()
  /** How much earlier than the entry before it an entry of the log may have been received, by another node. */
  readonly reorderedMsMax: number = 0
  /** How far the clock of a node may be from the time. */
  readonly skewMs: number = 0
  /** The store went back: what follows from no message of the log may be gone, or have happened at another time. */
  wasSetBack = false
  /** Devices are in as many partitions. */
  protected readonly partitions: number = 4

  constructor(seed: number) {
    this.dice = new Dice(seed)
    this.luck = drawLuck(this.dice)
  }

  /** The process that callers are connected to now. */
  abstract get process(): CallHost | undefined

  /** What is stored now. */
  abstract get store(): MemoryStore

  /** Settles rollups if it is time. */
  abstract settle(): Promise<void>

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

  /** Registers devices in few partitions only, so that many share one. */
  register(isSteady: boolean, { type = 'mqtt_device', gateway }: DeviceFamily = {}): SimulatedDevice {
    let id: DeviceId | undefined
    for (let i = 1; id === undefined; i++) {
      const named = parseDeviceId(`dev-${i}`)
      if (named !== undefined && !this.promised.has(named) && partitionOf(named) < this.partitions) id = named
    }
    this.promised.set(id, {
      edits: 0,
      plainEdits: 0,
      isRegistered: false,
      isDecommissioned: false,
      editedOn: new Set(),
    })
    const { dice, time, ledger } = this
    const witness: Witness = {
      commandOf: (deviceId, commandId) => ledger.commandOf(deviceId, commandId),
      versionOf: (deviceId) => ledger.versionOf(deviceId),
      // Between the save and its answer, the broker still gives out what it has.
      isGone: (deviceId) => this.promised.get(deviceId)?.isDecommissioned === true,
      skewMs: this.skewMs,
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
    })
  }

  /** A caller who gets no answer, or a refusal, was promised nothing. */
  request(
    id: DeviceId,
    wish: DeviceRequest,
    done: (promised: Promises, answer: RequestOutcome) => void,
  ): void {
    const promised = this.promised.get(id)
    const { process } = this
    if (promised === undefined || process === undefined) return
    process.engine.submit(id, wish, { by: { kind: 'user', id: 'usr_sim' } }).then(
      (answer) => {
        // The process died before it could answer.
        if (process.isOver()) return
        this.say(`${id} ${wish.kind} ${answer.kind}`)
        const isThere = answer.kind === 'refused' && answer.code === 'ALREADY_EXISTS'
        if (answer.kind === 'done' || isThere) done(promised, answer)
      },
      () => this.say(`${id} ${wish.kind} unknown`),
    )
  }

  /** Devices are let in once they are registered. */
  admit(clientId: string): Admission {
    const deviceId = parseDeviceId(clientId)
    const device = deviceId === undefined ? undefined : this.store.devices.get(deviceId)
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
