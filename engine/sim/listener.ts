// Listens to the feed. Each event must arrive after it was saved, in order and at most once, and a device that speaks must
// not be declared silent.
import type { Partition } from '../../schemas/ids.ts'
import { partitionOf } from '../domain/partition.ts'
import type { FeedEvent } from '../ports/feed.ts'
import type { BaseWorld, FeedListener } from './base-world.ts'
import { keyOf } from './ledger.ts'
import { HEARTBEAT_MS } from './simulated-device.ts'

type DeviceEvent = Extract<FeedEvent, { kind: 'device' }>
type ShadowEvent = Extract<FeedEvent, { kind: 'shadow' }>
type CommandEvent = Extract<FeedEvent, { kind: 'command' }>
type RowEvent = Extract<FeedEvent, { kind: 'timeline' | 'log' }>
type TelemetryEvent = Extract<FeedEvent, { kind: 'telemetry' }>

const FINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'rejected', 'cancelled', 'expired'])

/** The probability that the listener itself throws, which must not disturb anything else. */
const FAILS = 0.01

export class Listener implements FeedListener {
  readonly #world: BaseWorld
  /** The last revision that any process announced for each device. It must never go back. */
  readonly #revisions = new Map<string, number>()
  /** The time in ticks at which a device was declared silent. */
  readonly #silentSince = new Map<string, number>()
  /** The last version announced for each shadow. */
  readonly #versions = new Map<string, number>()
  readonly #statuses = new Map<string, string>()
  /** The timeline rows that any process has announced. */
  readonly #entries = new Set<string>()
  /** The log lines that the current process has announced. */
  readonly #lines = new Set<string>()
  /** The devices whose decommissioning was announced. */
  readonly #gone = new Set<string>()
  /** How often the current process has announced each numbered message. */
  readonly #told = new Map<string, number>()

  constructor(world: BaseWorld) {
    this.#world = world
  }

  startOver(): void {
    this.#told.clear()
    this.#lines.clear()
  }

  takenOver(partitions: ReadonlySet<Partition>): void {
    for (const { id } of this.#world.devices) {
      if (!partitions.has(partitionOf(id))) continue
      for (const told of [this.#told, this.#lines])
        for (const key of [...told.keys()]) if (key.startsWith(`${id} `)) told.delete(key)
    }
  }

  hear(events: readonly FeedEvent[]): void {
    for (const event of events) {
      if (event.kind === 'device') this.#hearDevice(event)
      else if (event.kind === 'telemetry') this.#hearTelemetry(event)
      else if (event.kind === 'shadow') this.#hearShadow(event)
      else if (event.kind === 'command') this.#hearCommand(event)
      else if (event.kind === 'timeline' || event.kind === 'log') this.#hearRow(event)
    }
    if (this.#world.luck.dies > 0 && this.#world.dice.chance(FAILS)) throw new Error('a listener fails')
  }

  #hearDevice({ event, view: { device } }: DeviceEvent): void {
    const world = this.#world
    world.say(`feed ${event} ${device.id} ${device.status} r${device.revision}`)
    if (event === 'device.connectivity') return
    this.#checkGone(device.id, event)
    if (device.status === 'decommissioned') this.#gone.add(device.id)
    // An effect comes after its save (R4) and at most once (R5).
    const saved = world.store.devices.get(device.id)
    if (saved === undefined || saved.revision < device.revision)
      world.violate(`${device.id} was announced at revision ${device.revision} before it was saved`)
    if (device.revision <= (this.#revisions.get(device.id) ?? 0))
      world.violate(`${device.id} was announced at revision ${device.revision} again`)
    this.#revisions.set(device.id, device.revision)
    if (event === 'device.status') this.#checkPresence(device)
  }

  #checkGone(deviceId: string, what: string): void {
    if (this.#gone.has(deviceId)) this.#world.violate(`${deviceId} is decommissioned, and then: ${what}`)
  }

  /** A device that speaks must not be declared silent, and a silent one must not be declared online. */
  #checkPresence(device: DeviceEvent['view']['device']): void {
    const world = this.#world
    const isSilent = device.status === 'offline' && device.statusReason === 'no heartbeat'
    const isTalking = world.devices.some((one) => one.id === device.id && one.isSteady && one.isConnected())
    if (isSilent && isTalking) world.violate(`${device.id} publishes steadily and was declared silent`)
    const silentSince = this.#silentSince.get(device.id)
    const { lastSentAt } = world.devices.find(({ id }) => id === device.id) ?? { lastSentAt: 0 }
    if (
      device.status === 'online' &&
      silentSince !== undefined &&
      lastSentAt < silentSince - HEARTBEAT_MS / 2
    )
      world.violate(`${device.id} was silent and was declared online without a word`)
    // An edit of a silent device announces its status again.
    if (isSilent) this.#silentSince.set(device.id, silentSince ?? world.time.ticks())
    else this.#silentSince.delete(device.id)
  }

  #hearShadow({ deviceId, change: { version, section } }: ShadowEvent): void {
    const world = this.#world
    world.say(`feed shadow ${deviceId} ${section} v${version}`)
    this.#checkGone(deviceId, `shadow ${version}`)
    if (version > (world.ledger.shadowOf(deviceId)?.version ?? 0))
      world.violate(`${deviceId} shadow ${version} was announced before it was saved`)
    if (version <= (this.#versions.get(deviceId) ?? 0))
      world.violate(`${deviceId} shadow ${version} was announced again`)
    this.#versions.set(deviceId, version)
  }

  #hearCommand({ deviceId, command: { id, status } }: CommandEvent): void {
    const world = this.#world
    world.say(`feed command ${deviceId} ${id} ${status}`)
    this.#checkGone(deviceId, `command ${id} ${status}`)
    const key = `${deviceId} ${id}`
    const before = this.#statuses.get(key)
    // A process that dies may leave out steps.
    if (before !== undefined && FINAL.has(before) && before !== status && before !== 'expired')
      world.violate(`${deviceId} command ${id} was ${before} and is ${status}`)
    this.#statuses.set(key, status)
  }

  /** A row must be announced at most once. A timeline row must equal the row that was saved before. */
  #hearRow({ kind, row }: RowEvent): void {
    const world = this.#world
    const key = keyOf(row)
    const told = kind === 'log' ? this.#lines : this.#entries
    if (told.has(key)) world.violate(`${key} was announced again`)
    told.add(key)
    if (kind === 'timeline' && world.ledger.rowOf(row)?.body !== row.body)
      world.violate(`${key} was announced but differs from the saved row`)
  }

  #hearTelemetry({ deviceId, data }: TelemetryEvent): void {
    const n = data['n']
    if (typeof n !== 'number') return
    const world = this.#world
    const key = `${deviceId} ${n}`
    const told = (this.#told.get(key) ?? 0) + 1
    this.#told.set(key, told)
    const times = world.devices.find(({ id }) => id === deviceId)?.sent[n - 1]?.times ?? 0
    if (told > times) world.violate(`${deviceId} message ${n} was sent ${times} and announced ${told} times`)
  }
}
