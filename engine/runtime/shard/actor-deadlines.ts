// The time at which each actor must next be looked at, because by then it may be silent, a command may be overdue, it may
// stop flapping, or an alert may be due. A deadline is computed from record and vitals, so a restart loses none (R6).
import { strict as assert } from 'node:assert'
import { Millis } from '../../../schemas/ids.ts'
import { commandDeadline } from '../../domain/device/command-events.ts'
import { type HeartbeatTimeouts, heartbeatTimeoutOf } from '../../domain/device/heartbeat.ts'
import type { Device } from '../../domain/device/record.ts'
import { nextDeadline } from '../../domain/device/transition.ts'
import type { Leap } from '../../domain/leap.ts'
import { firmwareDeadline, isReachStale } from '../../domain/ota/firmware-jobs.ts'
import { type Actor, isPolling, isReachable, otaWayOf, wayOf } from './actor.ts'
import { Deadlines } from './deadlines.ts'
import { calmsAt } from './sessions.ts'

interface SweepUnderWay {
  readonly now: Millis
  /** Time of the previous sweep. */
  readonly since: number
  readonly next: number
  /** Slots from this one on were claimed after the sweep began. */
  readonly end: number
}

export class ActorDeadlines {
  readonly #deadlines = new Deadlines()
  readonly #bySlot: Actor[] = []
  readonly #timeouts: HeartbeatTimeouts
  readonly #alertsDueAt: (actor: Actor) => number
  /** Every device counts as heard at this time or later. */
  #forgivenAt = 0
  /** The service was down before this time, so devices get their grace from then on. A shard that is opened again has
   *  missed nothing, because everything is in the log. */
  readonly #resumedAt: number
  /** Start of the latest sweep. */
  #sweptAt = 0
  /** The current sweep. It still has to visit the slots from `next` on. */
  #sweep: SweepUnderWay | undefined
  /** Time of the current task. */
  #now = Millis(0)
  #leaps: readonly Leap[] = []

  constructor(
    timeouts: HeartbeatTimeouts & { readonly resumedAt?: Millis | undefined },
    alertsDueAt: (actor: Actor) => number,
  ) {
    this.#timeouts = timeouts
    this.#resumedAt = timeouts.resumedAt ?? 0
    this.#alertsDueAt = alertsDueAt
  }

  /** Reserves a slot for one device, for as long as the shard lives. */
  claim(): number {
    return this.#deadlines.claim()
  }

  adopt(actor: Actor): void {
    this.#bySlot[actor.slot] = actor
  }

  /** Frees the slot of a device that is gone. The slot is not used again. */
  release({ slot }: Actor): void {
    this.#deadlines.clear(slot)
    delete this.#bySlot[slot]
  }

  /** Counts every device as heard now, so that a restart does not make devices silent. */
  load(now: Millis): void {
    this.#forgivenAt = now
    // Devices may be loaded after others were swept.
    if (this.#sweptAt === 0) this.#sweptAt = now
    this.#now = now
  }

  get forgivenAt(): number {
    return this.#forgivenAt
  }

  get resumedAt(): number {
    return this.#resumedAt
  }

  get leaps(): readonly Leap[] {
    return this.#leaps
  }

  startTask({ now, leaps }: { readonly now: Millis; readonly leaps: readonly Leap[] }): void {
    this.#now = now
    this.#leaps = leaps
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
    const sweptAt = this.#sweep !== undefined && this.#isAhead(slot) ? this.#sweep.since : this.#sweptAt
    const calmAt = calmsAt(actor, sweptAt)
    const otaAt = device.firmware.jobs.length === 0 ? Number.POSITIVE_INFINITY : this.#otaDeadline(actor)
    this.#deadlines.setOther(slot, Math.min(at, calmAt, otaAt, this.#alertsDueAt(actor)))
  }

  /** After a restart, a job may not know yet that its device is away. */
  #otaDeadline(actor: Actor): number {
    const { firmware } = actor.device
    const way = otaWayOf(actor)
    if (isReachStale(firmware, isReachable(actor, this.#now))) return this.#now
    const { polling } = actor
    // The device may stop polling while it has a job.
    const goneAt =
      isPolling(actor, this.#now) && polling ? polling.at + polling.timeoutMs : Number.POSITIVE_INFINITY
    const grace = { forgivenAt: this.#resumedAt, leaps: this.#leaps }
    const context = { session: way?.session, now: this.#now, ...grace }
    return Math.min(goneAt, firmwareDeadline(firmware, context))
  }

  /** Postpones the silence of an online device. Called for every message, so it does nothing else. */
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

  /** A device that polls by the DDI and has no connection has its own timeout. */
  #timeoutOf({ session, polling }: Actor, device: Device): number {
    return session === undefined && polling !== undefined
      ? polling.timeoutMs
      : heartbeatTimeoutOf(device, this.#timeouts)
  }

  get isSweeping(): boolean {
    return this.#sweep !== undefined
  }

  /** Begins a sweep. It visits every actor there is now, in the order of their slots. */
  beginSweep(now: Millis): void {
    assert(this.#sweep === undefined, 'a sweep ends before the next one begins')
    this.#sweep = { now, since: this.#sweptAt, next: 0, end: this.#deadlines.used }
    this.#sweptAt = Math.max(this.#sweptAt, now)
  }

  /** Takes at most `max` of the next due actors and clears their deadlines. `since` is the time of the previous
   *  sweep. */
  takeDue(max: number): { readonly due: readonly Actor[]; readonly since: number } {
    if (this.#sweep === undefined) return { due: [], since: this.#sweptAt }
    const { now, since, next, end } = this.#sweep
    const slots = this.#deadlines.due(now, { from: next, until: end, max })
    const last = slots.length < max ? end : (slots.at(-1) ?? end) + 1
    this.#sweep = last < end ? { now, since, next: last, end } : undefined
    const due = slots.flatMap((slot) => this.#bySlot[slot] ?? [])
    for (const slot of slots) this.#deadlines.clear(slot)
    return { due, since }
  }

  /** Clears the deadlines of an actor if it is due and the sweep has not visited it yet. */
  takeIfDue({ slot }: Actor): boolean {
    if (!this.#isAhead(slot) || this.#sweep === undefined) return false
    if (!this.#deadlines.isDue(slot, this.#sweep.now)) return false
    this.#deadlines.clear(slot)
    return true
  }

  /** Whether the sweep has still to visit this slot. */
  #isAhead(slot: number): boolean {
    return this.#sweep !== undefined && slot >= this.#sweep.next && slot < this.#sweep.end
  }
}
