// Somebody who listens to the feed: what is told is saved, in order, once, and no device that speaks is called silent.
import type { FeedEvent } from '../ports/feed.ts'
import type { World } from './world.ts'

type DeviceEvent = Extract<FeedEvent, { kind: 'device' }>
type TelemetryEvent = Extract<FeedEvent, { kind: 'telemetry' }>

/** Every so often it fails, which is nobody's business but its own. */
const FAILS = 0.01

export class Listener {
  readonly #world: World
  /** The last revision announced of each device, over all lives: a record never goes back. */
  readonly #revisions = new Map<string, number>()
  /** How often each numbered message was told in this life. */
  readonly #told = new Map<string, number>()

  constructor(world: World) {
    this.#world = world
  }

  /** Another process. */
  startOver(): void {
    this.#told.clear()
  }

  hear(events: readonly FeedEvent[]): void {
    for (const event of events) {
      if (event.kind === 'device') this.#hearDevice(event)
      else if (event.kind === 'telemetry') this.#hearTelemetry(event)
    }
    if (this.#world.luck.dies > 0 && this.#world.dice.chance(FAILS)) throw new Error('a listener fails')
  }

  #hearDevice({ event, view: { device } }: DeviceEvent): void {
    const world = this.#world
    world.say(`feed ${event} ${device.id} ${device.status} r${device.revision}`)
    if (event === 'device.connectivity') return
    // Effects never come before their save (R4), and at most once (R5).
    const saved = world.store.get(device.id)
    if (saved === undefined || saved.revision < device.revision)
      world.violate(`${device.id} was announced at revision ${device.revision} before it was saved`)
    if (device.revision <= (this.#revisions.get(device.id) ?? 0))
      world.violate(`${device.id} was announced at revision ${device.revision} again`)
    this.#revisions.set(device.id, device.revision)
    const isSilent = device.status === 'offline' && device.statusReason === 'no heartbeat'
    const isTalking = world.devices.some((one) => one.id === device.id && one.isSteady && one.isConnected())
    if (isSilent && isTalking) world.violate(`${device.id} publishes steadily and was declared silent`)
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
