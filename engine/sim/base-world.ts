// What all simulated runs have in common, with one process or several: devices, callers of the REST API, and what these
// were promised.

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
const STARTS_AT = Millis(Date.UTC(2026, 0, 5, 10, 20))
const NEVER = Millis(Date.UTC(2100, 0, 1))

/** What callers of the REST API were promised about a device. */
export interface Promises {
  edits: number
  /** The number of the last edit that did not name a revision. */
  plainEdits: number
  isRegistered: boolean
  isDecommissioned: boolean
  /** Revisions that successful edits named as the current one. */
  readonly editedOn: Set<number>
}

export interface DeviceFamily {
  readonly type?: string
  readonly gateway?: SimulatedDevice
}

export interface FeedListener {
  /** A new process has started. */
  startOver(): void
  /** These partitions have a new owner. It reads again what the previous one had read but not saved. */
  takenOver(partitions: ReadonlySet<Partition>): void
  hear(events: readonly FeedEvent[]): void
}

export interface CallHost {
  readonly engine: LocalEngine
  readonly after: (ms: number, run: () => void) => void
  /** True once the process is dead, so that callers who are waiting get no answer. */
  readonly isOver: () => boolean
}

export abstract class BaseWorld {
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
  /** An entry may be received earlier than the previous one in the log by this much, if another node received it. */
  readonly reorderedMsMax: number = 0
  /** How far the clock of a node may be off. */
  readonly skewMs: number = 0
  /** True once the store was put back. Changes that do not follow from the log may then be lost, or happen at another
   *  time. */
  wasSetBack = false
  /** The number of partitions that have devices. */
  protected readonly partitions: number = 4

  constructor(seed: number) {
    this.dice = new Dice(seed)
    this.luck = drawLuck(this.dice)
  }

  /** The process to which callers are connected now. */
  abstract get process(): CallHost | undefined

  /** What is stored now. */
  abstract get store(): MemoryStore

  /** Settles rollups if they are due. */
  abstract settle(): Promise<void>

  /** Returns a hash of the trace, which is the same in every run of a seed. */
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

  /** Registers a device in one of the few partitions in use, so that many devices share a partition. */
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
      // Until the caller has the answer, the broker may still deliver messages that it already has.
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

  /** Calls `done` only if the caller was promised something, which a missing answer or a refusal does not do. */
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
        // A process that is dead by now could not answer.
        if (process.isOver()) return
        this.say(`${id} ${wish.kind} ${answer.kind}`)
        const isThere = answer.kind === 'refused' && answer.code === 'ALREADY_EXISTS'
        if (answer.kind === 'done' || isThere) done(promised, answer)
      },
      () => this.say(`${id} ${wish.kind} unknown`),
    )
  }

  /** Admits registered devices that are not decommissioned. */
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
