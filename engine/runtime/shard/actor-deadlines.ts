// The time at which each actor must next be looked at: it may be silent, a command may be overdue, it may stop
// flapping, or an alert may be due. A deadline is computed from record and vitals, so a restart loses none (R6).
import { Millis } from '../../../schemas/ids.ts'
import { commandDeadline } from '../../domain/device/command-events.ts'
import { type HeartbeatTimeouts, heartbeatTimeoutOf } from '../../domain/device/heartbeat.ts'
import type { Device } from '../../domain/device/record.ts'
import { nextDeadline } from '../../domain/device/transition.ts'
import { firmwareDeadline, isReachStale } from '../../domain/ota/firmware-jobs.ts'
import { type Actor, isPolling, isReachable, otaWayOf, wayOf } from './actor.ts'
import { Deadlines } from './deadlines.ts'
import { calmsAt } from './sessions.ts'

export class ActorDeadlines {
  readonly #deadlines = new Deadlines()
  readonly #bySlot: Actor[] = []
  readonly #timeouts: HeartbeatTimeouts
  readonly #alertsDueAt: (actor: Actor) => number
  /** Devices count as heard at this time at least. */
  #forgivenAt = 0
  /** Time of the last sweep. */
  #sweptAt = 0
  /** Time of the current task. */
  #now = Millis(0)

  constructor(timeouts: HeartbeatTimeouts, alertsDueAt: (actor: Actor) => number) {
    this.#timeouts = timeouts
    this.#alertsDueAt = alertsDueAt
  }

  /** Reserves a slot for one device, for as long as the shard lives. */
  claim(): number {
    return this.#deadlines.claim()
  }

  adopt(actor: Actor): void {
    this.#bySlot[actor.slot] = actor
  }

  /** The device is gone; its slot is not used again. */
  release({ slot }: Actor): void {
    this.#deadlines.clear(slot)
    delete this.#bySlot[slot]
  }

  /** A restart invents no silence: every device counts as heard now. */
  load(now: Millis): void {
    this.#forgivenAt = now
    // Devices may come while others were swept already.
    if (this.#sweptAt === 0) this.#sweptAt = now
    this.#now = now
  }

  get forgivenAt(): number {
    return this.#forgivenAt
  }

  startTask(now: Millis): void {
    this.#now = now
  }

  forgive(at: Millis, actors: Iterable<Actor>): void {
    this.#forgivenAt = at
    for (const actor of actors) this.schedule(actor)
  }

  schedule(actor: Actor): void {
    const { device, slot } = actor
    this.#deadlines.setPresence(slot, this.presence(actor, device))
    const isIdle = device.commands.length === 0
    const at = isIdle ? Number.POSITIVE_INFINITY : commandDeadline(device, wayOf(actor), this.#now)
    const calmAt = calmsAt(actor, this.#sweptAt)
    const otaAt = device.firmware.jobs.length === 0 ? Number.POSITIVE_INFINITY : this.#otaDeadline(actor)
    this.#deadlines.setOther(slot, Math.min(at, calmAt, otaAt, this.#alertsDueAt(actor)))
  }

  /** After a restart a job may not know yet that its device is away. */
  #otaDeadline(actor: Actor): number {
    const { firmware } = actor.device
    const way = otaWayOf(actor)
    if (isReachStale(firmware, isReachable(actor, this.#now))) return this.#now
    const { polling } = actor
    // The device may stop asking while it has a job.
    const goneAt =
      isPolling(actor, this.#now) && polling ? polling.at + polling.timeoutMs : Number.POSITIVE_INFINITY
    return Math.min(goneAt, firmwareDeadline(firmware, { session: way?.session, now: this.#now }))
  }

  /** Puts off the silence of an online device. It is called for every message, so it does no more than that. */
  heard(actor: Actor, at: Millis): void {
    const timeoutMs = this.#timeoutOf(actor, actor.device)
    this.#deadlines.setPresence(actor.slot, Math.max(at, this.#forgivenAt) + timeoutMs)
  }

  /** The time at which the device counts as silent, or as recovered from its fault. */
  presence(actor: Actor, device: Device): number {
    const { heardAt, recoverAt } = actor
    const vitals = { heardAt: Math.max(heardAt, this.#forgivenAt), recoverAt }
    return nextDeadline(device, vitals, this.#timeoutOf(actor, device))
  }

  /** A device without a connection that asks by the DDI has a timeout of its own. */
  #timeoutOf({ session, polling }: Actor, device: Device): number {
    return session === undefined && polling !== undefined
      ? polling.timeoutMs
      : heartbeatTimeoutOf(device, this.#timeouts)
  }

  /** Takes the actors that are due and clears their deadlines. `since` is the time of the sweep before this one. */
  sweep(now: Millis): { readonly due: readonly Actor[]; readonly since: number } {
    const since = this.#sweptAt
    this.#sweptAt = Math.max(since, now)
    const due: Actor[] = []
    for (const slot of this.#deadlines.due(now)) {
      const actor = this.#bySlot[slot]
      if (actor === undefined) continue
      this.#deadlines.clear(slot)
      due.push(actor)
    }
    return { due, since }
  }
}
