// Somebody who listens to the feed: what is told is saved, in order, once, and no device that speaks is called silent.
import type { FeedEvent } from '../ports/feed.ts'
import { keyOf } from './ledger.ts'
import { HEARTBEAT_MS } from './simulated-device.ts'
import type { FeedListener, World } from './world.ts'

type DeviceEvent = Extract<FeedEvent, { kind: 'device' }>
type ShadowEvent = Extract<FeedEvent, { kind: 'shadow' }>
type CommandEvent = Extract<FeedEvent, { kind: 'command' }>
type RowEvent = Extract<FeedEvent, { kind: 'timeline' | 'log' }>
type TelemetryEvent = Extract<FeedEvent, { kind: 'telemetry' }>

const FINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'rejected', 'cancelled', 'expired'])

/** Every so often it fails, which is nobody's business but its own. */
const FAILS = 0.01

export class Listener implements FeedListener {
  readonly #world: World
  /** The last revision announced of each device, over all lives: a record never goes back. */
  readonly #revisions = new Map<string, number>()
  /** When a device was declared silent, in ticks. */
  readonly #silentSince = new Map<string, number>()
  /** The last version announced of each shadow, and the last status of each command. */
  readonly #versions = new Map<string, number>()
  readonly #statuses = new Map<string, string>()
  /** The rows of timelines that were told, over all lives; and those of logs, in this one. */
  readonly #entries = new Set<string>()
  readonly #lines = new Set<string>()
  /** Decommissioned devices of which that was told. */
  readonly #gone = new Set<string>()
  /** How often each numbered message was told in this life. */
  readonly #told = new Map<string, number>()

  constructor(world: World) {
    this.#world = world
  }

  startOver(): void {
    this.#told.clear()
    this.#lines.clear()
  }

  hear(events: readonly FeedEvent[]): void {
    for (const event of events) {
      if (event.kind === 'device') this.#hearDevice(event)
      else if (event.kind === 'telemetry') this.#hearTelemetry(event)
      else if (event.kind === 'shadow') this.#hearShadow(event)
      else if (event.kind === 'command') this.#hearCommand(event)
      else this.#hearRow(event)
    }
    if (this.#world.luck.dies > 0 && this.#world.dice.chance(FAILS)) throw new Error('a listener fails')
  }

  #hearDevice({ event, view: { device } }: DeviceEvent): void {
    const world = this.#world
    world.say(`feed ${event} ${device.id} ${device.status} r${device.revision}`)
    if (event === 'device.connectivity') return
    this.#checkGone(device.id, event)
    if (device.status === 'decommissioned') this.#gone.add(device.id)
    // Effects never come before their save (R4), and at most once (R5).
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

  /** Nobody is called silent who speaks, nor heard who does not. */
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
    // An edit of a silent device tells of it once more.
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
    // Steps may be missing: what a dying process did not tell.
    if (before !== undefined && FINAL.has(before) && before !== status && before !== 'expired')
      world.violate(`${deviceId} command ${id} was ${before} and is ${status}`)
    this.#statuses.set(key, status)
  }

  /** A row is told at most once, and one of a timeline after it was saved: it is the very row of the history. */
  #hearRow({ kind, row }: RowEvent): void {
    const world = this.#world
    const key = keyOf(row)
    const told = kind === 'log' ? this.#lines : this.#entries
    if (told.has(key)) world.violate(`${key} was told again`)
    told.add(key)
    if (kind === 'timeline' && world.ledger.rowOf(row)?.body !== row.body)
      world.violate(`${key} was told and is not what was saved`)
  }

  #hearTelemetry({ deviceId, data }: TelemetryEvent): void {
    const n = data['n']
    if (typeof n !== 'number') return
    const world = this.#world
    const key = `${deviceId} ${n}`
    const told = (this.#told.get(key) ?? 0) + 1
    this.#told.set(key, told)
    const times = world.devices.find(({ id }) => id === deviceId)?.sent[n - 1]?.times ?? 0
    if (told > times) world.violate(`${deviceId} message ${n} was sent ${times} times and told ${told} times`)
  }
}
