// The sweep looks at every device that is due, a part of them in each task, so that messages, requests and questions do
// not wait behind thousands of devices.
//
// - A sweep judges all of its devices as of the time at which it began. Everything received before that time is applied.
// W2. A due device is judged before anything received later from it or about it is applied. So the result does not depend
//     on how far the sweep has come.
// - The sweep's progress is in memory alone. After a crash the deadlines follow from the records again (R6).
import { Millis } from '../../../schemas/ids.ts'
import type { DeviceEvent } from '../../domain/device/events.ts'
import { LIMITS } from '../../limits.ts'
import { type Actor, isAway } from './actor.ts'
import type { ActorDeadlines } from './actor-deadlines.ts'
import type { Batch } from './batch.ts'
import { viaOf } from './dead-letters.ts'
import { type Incoming, placeOf, timeOf } from './incoming.ts'
import type { ShardSettings } from './protocol.ts'
import { calmsAt, publishConnection } from './sessions.ts'
import type { ShardAlerts } from './shard-alerts.ts'
import type { ShardFleet } from './shard-fleet.ts'

interface SweepPorts {
  readonly settings: Pick<ShardSettings, 'dueDevicesPerTaskMax'>
  readonly deadlines: ActorDeadlines
  readonly alerts: ShardAlerts
  readonly fleet: ShardFleet
}

export class Sweep {
  readonly #ports: SweepPorts
  readonly #dueMax: number
  #now = Millis(0)
  #provesSilence = true

  constructor(ports: SweepPorts) {
    this.#ports = ports
    this.#dueMax = ports.settings.dueDevicesPerTaskMax ?? LIMITS.dueDevicesPerTaskMax
  }

  /** Whether the sweep has still to visit some devices. */
  get isCut(): boolean {
    return this.#ports.deadlines.isSweeping
  }

  /** `provesSilence`: whether everything that devices sent before `now` is known. */
  begin(now: Millis, provesSilence: boolean): void {
    this.#now = now
    this.#provesSilence = provesSilence
    this.#ports.deadlines.beginSweep(now)
  }

  /** Judges the next due devices. */
  judgeNext(batch: Batch): void {
    const { deadlines, alerts, fleet } = this.#ports
    const now = this.#now
    batch.open.setMoment(now * 1000, undefined, undefined)
    const { due, since } = deadlines.takeDue(this.#dueMax)
    for (const actor of due) {
      if (batch.open.gone.has(actor.device.id)) continue
      this.#decide(actor, batch)
      if (calmsAt(actor, since) <= now) {
        alerts.connection(actor, now)
        publishConnection(actor, now, batch)
        fleet.note(actor)
      }
      this.#judge(actor, batch)
    }
  }

  /** Judges the device of an item if the sweep has not visited it yet. */
  judgeFirst(actor: Actor, incoming: Incoming, batch: Batch): void {
    const { open } = batch
    const isLater = timeOf(incoming) > this.#now
    // by W2
    if (!isLater || open.gone.has(actor.device.id) || !this.#ports.deadlines.takeIfDue(actor)) return
    open.setMoment(this.#now * 1000, undefined, undefined)
    this.#decide(actor, batch)
    this.#judge(actor, batch)
    open.setMoment(incoming.item.receivedAt, placeOf(incoming), viaOf(incoming.item))
  }

  #decide(actor: Actor, { decisions }: Batch): void {
    const now = this.#now
    const device = decisions.deviceOf(actor)
    // The vitals may have moved on since the deadline was set.
    if (this.#provesSilence && this.#ports.deadlines.presence(actor, device) <= now) {
      const event: DeviceEvent =
        device.status === 'error' ? { kind: 'recovered' } : { kind: 'silent', seenAt: Millis(actor.heardAt) }
      decisions.decide(actor, event, now)
    }
    if (decisions.deviceOf(actor).commands.length > 0) decisions.decide(actor, { kind: 'overdue' }, now)
    if (decisions.deviceOf(actor).firmware.jobs.length === 0) return
    // The device's messages may be in a lane that nobody reads yet.
    const forgivenAt = this.#provesSilence ? this.#ports.deadlines.resumedAt : now
    const { leaps } = this.#ports.deadlines
    decisions.decide(actor, { kind: 'ota_overdue', isAway: isAway(actor, now), forgivenAt, leaps }, now)
  }

  #judge(actor: Actor, { decisions, open }: Batch): void {
    this.#ports.alerts.sweep(actor, this.#now, decisions)
    if (!open.devices.has(actor.device.id)) this.#ports.deadlines.schedule(actor)
  }
}
