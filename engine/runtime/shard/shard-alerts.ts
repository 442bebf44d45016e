// A shard's alert rules: which ones are judged for which actor, and when.
//
// A1. Timers decide nothing before the backlog is read, because a value in it counts first.
// A2. When rules change, some actors get their new rules at once. Each other actor gets them when it is next looked at, by
//     the sweep or for a message before that. All at once would hold up the shard for a second at every change.
import { Micros, type Millis, toMillis } from '../../../schemas/ids.ts'
import type { FleetCounts, LeafName } from '../../domain/alert/fleet-counts.ts'
import type { JudgeContext } from '../../domain/alert/judge.ts'
import { type AlertSettings, RuleBook } from '../../domain/alert/rule-book.ts'
import type { Watch } from '../../domain/alert/watch.ts'
import { restoreWatch, toMemory } from '../../domain/alert/watch-memory.ts'
import type { Effect } from '../../domain/device/events.ts'
import type { Device } from '../../domain/device/record.ts'
import { isUpdating } from '../../domain/ota/firmware-jobs.ts'
import type { StoredReport } from '../../domain/telemetry/report.ts'
import { LIMITS } from '../../limits.ts'
import type { Actor } from './actor.ts'
import { AlertCounters } from './alert-counters.ts'
import type { AlertEffort } from './alert-effort.ts'
import { type AlertDecisions, AlertJudging, type AlertJudgingPorts } from './alert-judging.ts'
import { countedAlerts, knownTelemetry } from './alert-phases.ts'
import { type AlertTrigger, eventLeaves } from './alert-triggers.ts'
import { FleetCounters } from './fleet-counters.ts'
import type { Incoming } from './incoming.ts'

interface ShardAlertsPorts extends Omit<AlertJudgingPorts, 'book' | 'open' | 'judged'> {
  readonly reschedule: (actor: Actor) => void
  readonly slotValues: Parameters<Watch['feedShape']>[1]
}

const NO_RULES: readonly number[] = []

export class ShardAlerts {
  readonly #ports: ShardAlertsPorts
  #book: RuleBook | undefined
  /** by A1 */
  #isCaughtUp = false
  /** Devices that match more rules than may be judged for one device. */
  readonly #overloaded = new Set<Actor>()
  /** Actors whose rules still come from an earlier book (A2). */
  readonly #outdated = new Set<Actor>()
  readonly #counts = new AlertCounters()
  readonly #judging: AlertJudging
  readonly #fleet = new FleetCounters()

  constructor(ports: ShardAlertsPorts) {
    this.#ports = ports
    this.#judging = new AlertJudging({
      ...ports,
      book: () => this.#book,
      open: () => this.#counts.open,
      judged: (actor, now) => {
        this.#count(actor, now)
        ports.reschedule(actor)
      },
    })
  }

  get effort(): AlertEffort {
    return this.#judging.effort
  }

  get book(): RuleBook | undefined {
    return this.#book
  }

  get overloaded(): ReadonlySet<Actor> {
    return this.#overloaded
  }

  /** Devices that wait for room although a condition is true on them. */
  get overflowing(): ReadonlySet<Actor> {
    return this.#judging.waiting
  }

  /** How many alerts are in which state. */
  get counts(): AlertCounters {
    return this.#counts
  }

  /** What the leader needs to know for rules about the fleet. */
  fleetCounts(sums: readonly LeafName[], actors: Iterable<Actor>, now: Millis): FleetCounts {
    return {
      isCaughtUp: this.#isCaughtUp && this.#book !== undefined,
      rules: this.#fleet.counts(sums, actors, now),
      open: this.#counts.open,
      overflowing: this.overflowing.size,
    }
  }

  /** Sets the rules and silences. The next sweep judges every instance again. An actor that is `isChanging` has a change that
   *  is being saved, so it gets its rules later, by its new record. */
  settle(
    settings: AlertSettings,
    actors: Iterable<Actor>,
    { now, isChanging }: { readonly now: Millis; readonly isChanging: (actor: Actor) => boolean },
  ): void {
    this.#book = new RuleBook(settings, this.#book)
    const all = [...actors]
    for (const actor of all) {
      this.#outdated.add(actor)
      this.#ports.reschedule(actor)
    }
    for (const actor of all.slice(0, LIMITS.dueDevicesPerTaskMax))
      if (!isChanging(actor)) this.watchOf(actor, now)
    this.#fleet.settle(this.#book.fleet, all, now)
  }

  /** Called for each actor whose record changed, or that is new, when the open proposal is settled. */
  settled(actor: Actor, now: Millis): void {
    this.#judging.settled()
    this.#count(actor, now)
    this.#fleet.note(actor, now)
  }

  /** Called when a device is gone: its alerts have ended, and no rule counts it any more. */
  forget(actor: Actor): void {
    this.#counts.forget(actor)
    this.#overloaded.delete(actor)
    this.#outdated.delete(actor)
    this.#judging.forget(actor)
    this.#fleet.forget(actor)
  }

  /** Called when the device's connection or flapping changed. */
  connection(actor: Actor, now: Millis): void {
    this.#fleet.note(actor, now)
  }

  /** Chooses the actor's rules again, by its settled record. */
  fit(actor: Actor, device: Device = actor.device): void {
    const book = this.#book
    if (book === undefined) return
    this.#outdated.delete(actor)
    const { fit, isOverloaded } = book.fitFor(device)
    if (isOverloaded) this.#overloaded.add(actor)
    else this.#overloaded.delete(actor)
    const saved = actor.watchMemory
    // Not kept while no rule fits, because it would not learn what is reported meanwhile.
    actor.watchMemory = undefined
    if (fit === actor.watch?.fit) return
    if (fit === undefined) this.#judging.forget(actor)
    const memory = actor.watch === undefined ? saved : toMemory(actor.watch)
    actor.watch = fit && restoreWatch(fit, memory, knownTelemetry(actor))
  }

  /** The actor's watch for the current rules (A2). */
  watchOf(actor: Actor, now: Millis): Watch | undefined {
    // Called for every message, so the common case is checked first.
    if (this.#outdated.size > 0 && this.#outdated.has(actor)) {
      this.fit(actor)
      if (actor.watch !== undefined) actor.watch.deadline = 0
      this.#ports.reschedule(actor)
      this.#count(actor, now)
    }
    return actor.watch
  }

  /** When the actor's rules must next be judged, in milliseconds. */
  dueAt(actor: Actor, device: Device): number {
    const { watch } = actor
    if (this.#outdated.has(actor)) return 0
    if (watch !== undefined) return watch.deadline
    return device.alerts.open.length > 0 && this.#book !== undefined ? 0 : Number.POSITIVE_INFINITY
  }

  /** Takes in a stored report. As long as no condition changes, this costs only comparisons. */
  telemetry(actor: Actor, reported: StoredReport, incoming: Incoming, decisions: AlertDecisions): void {
    const { watch } = actor
    if (watch === undefined) return
    const { receivedAt } = incoming.item
    const { shape, reports, at } = reported
    const isFlagged =
      shape === undefined
        ? watch.feedReports(reports, receivedAt)
        : watch.feedShape(shape, this.#ports.slotValues, at, receivedAt)
    if (!isFlagged) return
    this.#judging.judge(actor, watch.takeFlagged(), { at: receivedAt, isNew: incoming.isNew }, decisions)
  }

  /** Called when something happened that rules may wait for. */
  triggered(actor: Actor, trigger: AlertTrigger, incoming: Incoming, decisions: AlertDecisions): void {
    // Each line of a message has a moment of its own, so that each counts, also when it is read again.
    const line = trigger.kind === 'log' ? trigger.line : 0
    const at = Micros(incoming.item.receivedAt + line)
    this.#triggered(actor, trigger, { at, isNew: incoming.isNew }, decisions)
  }

  /** Called when a decision changed the device, because its rules or their conditions may have changed, too. */
  changed(
    actor: Actor,
    {
      before,
      effects,
      now,
    }: { readonly before: Device; readonly effects: readonly Effect[]; readonly now: Millis },
    decisions: AlertDecisions,
  ): void {
    const device = decisions.deviceOf(actor)
    // An actor that exists for one request only is no device of the shard yet.
    if (this.#book === undefined || before === device || actor.slot < 0) return
    this.watchOf(actor, now)
    const moment = { at: Micros(now * 1_000), isNew: true }
    for (const effect of effects)
      if (effect.kind === 'command_moved')
        this.#triggered(actor, { kind: 'command', command: effect.command }, moment, decisions)
      else if (effect.kind === 'job_moved' && effect.job.status !== effect.previous)
        this.#triggered(actor, { kind: 'job', job: effect.job }, moment, decisions)
      else if (effect.kind === 'alert_moved' && effect.by !== undefined && actor.watch !== undefined)
        actor.watch.deadline = 0
    const isMember =
      before.group === device.group &&
      before.tags === device.tags &&
      before.name === device.name &&
      before.firmwareVersion === device.firmwareVersion
    if (!isMember || before.status !== device.status) this.fit(actor, device)
    // Alerts muted during an update are told when the update ends.
    const wasUpdating = before.firmware !== device.firmware && isUpdating(before.firmware)
    const isOver = wasUpdating && !isUpdating(device.firmware)
    if (before.status !== device.status || !isMember || isOver)
      this.#judging.judgeAll(actor, Micros(now * 1_000), decisions)
    else if (before.shadow !== device.shadow) this.record(actor, now, decisions)
  }

  /** Called when the device's record or connection changed. */
  record(actor: Actor, now: Millis, decisions: AlertDecisions): void {
    const rules = this.watchOf(actor, now)?.fit.rulesOfRecord ?? NO_RULES
    if (rules.length > 0)
      this.#judging.judge(actor, rules, { at: Micros(now * 1_000), isNew: true }, decisions)
  }

  /** `isCaughtUp`: whether every entry was read. If so, devices that wait for room become due if there is room again. */
  caughtUp(isCaughtUp: boolean): void {
    this.#isCaughtUp = isCaughtUp
    if (isCaughtUp) this.#judging.wake(this.#ports.reschedule)
  }

  /** Judges the actor's rules if they are due. Called by the sweep. */
  sweep(actor: Actor, now: Millis, decisions: AlertDecisions): void {
    // by A1
    if (!this.#isCaughtUp || this.dueAt(actor, decisions.deviceOf(actor)) > now) return
    this.watchOf(actor, now)
    this.#judging.judgeAll(actor, Micros(now * 1_000), decisions)
  }

  /** The circumstances of the actor's alerts at a time when nothing happens. */
  occasionAt(actor: Actor, device: Device, now: Millis): JudgeContext {
    return this.#judging.occasion(actor, device, { at: Micros(now * 1_000) })
  }

  /** Updates the counts of open and pending alerts, by the actor's settled record. */
  #count(actor: Actor, now: Millis): void {
    // An actor that exists for one request only is no device of the shard yet.
    if (actor.slot >= 0) this.#counts.note(actor, countedAlerts(actor, now))
  }

  #triggered(
    actor: Actor,
    trigger: AlertTrigger,
    { at, isNew }: { readonly at: Micros; readonly isNew: boolean },
    decisions: AlertDecisions,
  ): void {
    const watch = this.watchOf(actor, toMillis(at))
    if (watch === undefined || watch.fit.eventLeaves.length === 0) return
    const { leaves, value } = eventLeaves(watch.fit, trigger)
    if (leaves.size === 0) return
    const rules = [...new Set([...leaves].map((leaf) => watch.fit.ruleOf[leaf] ?? 0))]
    // Log lines are read again after a crash. Other events are decided only once, so their count is kept at once.
    const keepsCount = trigger.kind !== 'log'
    this.#judging.judge(actor, rules, { at, isNew, events: leaves, value, keepsCount }, decisions)
  }
}
