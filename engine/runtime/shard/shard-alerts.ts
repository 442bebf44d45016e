// A shard's alert rules: which are judged for which actor, and when they are judged.
//
// A1. Nothing is decided by timers before the backlog was read: a value that came meanwhile counts first.
// A2. An entry that is read again brings the vitals up to date and decides nothing.
import { Micros, Millis, toMillis } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import { type Alert, withMemosOf } from '../../domain/alert/alerts-part.ts'
import { type AlertShown, alertMessage } from '../../domain/alert/body.ts'
import type { FleetCounts, LeafName } from '../../domain/alert/fleet-counts.ts'
import {
  endOrphans,
  findingsOf,
  type Judgement,
  judge,
  judgeAll,
  look,
  mutedBy,
  type Occasion,
} from '../../domain/alert/judge.ts'
import { type AlertSettings, RuleBook } from '../../domain/alert/rule-book.ts'
import type { Watch } from '../../domain/alert/watch.ts'
import { recall, remember } from '../../domain/alert/watch-memory.ts'
import type { Effect, Outcome } from '../../domain/device/events.ts'
import type { Device } from '../../domain/device/record.ts'
import { isUpdating } from '../../domain/ota/firmware-jobs.ts'
import type { StoredReport } from '../../domain/telemetry/report.ts'
import type { FeedEvent } from '../../ports/feed.ts'
import type { Actor } from './actor.ts'
import { AlertEffort } from './alert-effort.ts'
import { type AlertHappening, eventLeaves } from './alert-happenings.ts'
import { tellPending } from './alert-pending.ts'
import { countedAlerts, latestOf, phaseAt, sightOf } from './alert-phases.ts'
import { AlertRoom } from './alert-room.ts'
import { KeptFleetCounts } from './fleet-counts.ts'
import type { Incoming } from './incoming.ts'
import { KeptAlertCounts } from './kept-alert-counts.ts'

interface ShardAlertsPorts {
  /** How long it may be silent. */
  readonly graceMsOf: (device: Device) => number
  /** Devices count as heard at this time at least. */
  readonly forgivenAt: () => number
  readonly reschedule: (actor: Actor) => void
  readonly slotValues: Parameters<Watch['feedShape']>[1]
  /** Alerts that may be open on the devices of this shard. */
  readonly openMax: () => number
  readonly ticks: () => number
}

/** Keeps what follows from a judgement, as from any other decision. */
interface Deciding {
  deviceOf(actor: Actor): Device
  follow(actor: Actor, before: Device | undefined, outcome: Outcome, now: Millis): unknown
  tell(events: readonly FeedEvent[]): void
}

const NO_EVENTS: ReadonlySet<number> = new Set()
const NO_RULES: readonly number[] = []

export class ShardAlerts {
  readonly #ports: ShardAlertsPorts
  #book: RuleBook | undefined
  /** by A1 */
  #isCaughtUp = false
  /** Devices that more rules fit than are judged. */
  readonly #overloaded = new Set<string>()
  readonly #counts = new KeptAlertCounts()
  readonly #room: AlertRoom
  readonly #fleet = new KeptFleetCounts()
  readonly effort: AlertEffort

  constructor(ports: ShardAlertsPorts) {
    this.#ports = ports
    this.effort = new AlertEffort(ports.ticks)
    this.#room = new AlertRoom(ports.openMax, () => this.#counts.open)
  }

  get book(): RuleBook | undefined {
    return this.#book
  }

  get overloaded(): number {
    return this.#overloaded.size
  }

  get overflowing(): number {
    return this.#room.waiting
  }

  /** How many alerts are in which state. */
  get counts(): KeptAlertCounts {
    return this.#counts
  }

  /** What the leader needs to know for rules about the fleet. */
  fleetCounts(sums: readonly LeafName[], actors: Iterable<Actor>, now: Millis): FleetCounts {
    return {
      isCaughtUp: this.#isCaughtUp && this.#book !== undefined,
      rules: this.#fleet.counts(sums, actors, now),
      open: this.#counts.open,
      overflowing: this.overflowing,
    }
  }

  /** These rules and silences count from now on. Every instance is judged anew by the next sweep. */
  settle(settings: AlertSettings, actors: Iterable<Actor>, now: Millis): void {
    this.#book = new RuleBook(settings, this.#book)
    const all = [...actors]
    for (const actor of all) {
      this.fit(actor)
      if (actor.watch !== undefined) actor.watch.deadline = 0
      this.#ports.reschedule(actor)
      this.#count(actor, now)
    }
    this.#fleet.settle(this.#book.fleet, all, now)
  }

  /** The open proposal is settled: these are the actors whose records changed, or that are new. */
  settled(actor: Actor, now: Millis): void {
    this.#room.settled()
    this.#count(actor, now)
    this.#fleet.note(actor, now)
  }

  /** The device is gone. Its alerts have ended, and it is no member of anything any more. */
  forget(actor: Actor): void {
    this.#counts.forget(actor)
    this.#overloaded.delete(actor.device.id)
    this.#room.leave(actor)
    this.#fleet.forget(actor)
  }

  /** The device's connection or its flapping changed. */
  connection(actor: Actor, now: Millis): void {
    this.#fleet.note(actor, now)
  }

  /** Chooses the rules of an actor anew, by its settled record. */
  fit(actor: Actor, device: Device = actor.device): void {
    const book = this.#book
    if (book === undefined) return
    const { fit, isOverloaded } = book.fittingOf(device)
    if (isOverloaded) this.#overloaded.add(device.id)
    else this.#overloaded.delete(device.id)
    if (fit === actor.watch?.fit) return
    const memory = actor.watch === undefined ? actor.watchMemory : remember(actor.watch)
    actor.watchMemory = fit === undefined ? memory : undefined
    actor.watch = fit && recall(fit, memory, (metric) => latestOf(actor, metric))
  }

  /** When the rules of an actor must be looked at, in milliseconds. */
  dueAt({ watch }: Actor, device: Device): number {
    if (watch !== undefined) return watch.deadline
    return device.alerts.open.length > 0 && this.#book !== undefined ? 0 : Number.POSITIVE_INFINITY
  }

  /** Takes a stored report in. Costs nothing but the comparisons while nothing moves. */
  telemetry(
    actor: Actor,
    watch: Watch,
    reported: StoredReport,
    incoming: Incoming,
    decisions: Deciding,
  ): void {
    const { receivedAt } = incoming.item
    const { shape, reports, at } = reported
    const isFlagged =
      shape === undefined
        ? watch.feedReports(reports, receivedAt)
        : watch.feedShape(shape, this.#ports.slotValues, at, receivedAt)
    if (!isFlagged) return
    this.#judge(actor, watch.takeFlagged(), { at: receivedAt, isNew: incoming.isNew }, decisions)
  }

  /** Something happened that rules may wait for. */
  happened(actor: Actor, what: AlertHappening, incoming: Incoming, decisions: Deciding): void {
    this.#happened(actor, what, { at: incoming.item.receivedAt, isNew: incoming.isNew }, decisions)
  }

  /** A decision changed the device: its rules may be others now, or their conditions. */
  changed(
    actor: Actor,
    {
      before,
      effects,
      now,
    }: { readonly before: Device; readonly effects: readonly Effect[]; readonly now: Millis },
    decisions: Deciding,
  ): void {
    const device = decisions.deviceOf(actor)
    // An actor that was made for one request only is no device of the shard yet.
    if (this.#book === undefined || before === device || actor.slot < 0) return
    const moment = { at: Micros(now * 1_000), isNew: true }
    for (const effect of effects)
      if (effect.kind === 'command_moved')
        this.#happened(actor, { kind: 'command', command: effect.command }, moment, decisions)
      else if (effect.kind === 'job_moved' && effect.job.status !== effect.previous)
        this.#happened(actor, { kind: 'job', job: effect.job }, moment, decisions)
      else if (effect.kind === 'alert_moved' && effect.by !== undefined && actor.watch !== undefined)
        actor.watch.deadline = 0
    const isMember =
      before.group === device.group &&
      before.tags === device.tags &&
      before.name === device.name &&
      before.firmwareVersion === device.firmwareVersion
    if (!isMember || before.status !== device.status) this.fit(actor, device)
    // What was muted during the update is told of when it ends.
    const wasUpdating = before.firmware !== device.firmware && isUpdating(before.firmware)
    const isOver = wasUpdating && !isUpdating(device.firmware)
    if (before.status !== device.status || !isMember || isOver)
      this.#judgeAll(actor, Micros(now * 1_000), decisions)
    else if (before.shadow !== device.shadow) this.record(actor, now, decisions)
  }

  /** The device's record or connection changed. */
  record(actor: Actor, now: Millis, decisions: Deciding): void {
    const rules = actor.watch?.fit.rulesOfRecord ?? NO_RULES
    if (rules.length > 0) this.#judge(actor, rules, { at: Micros(now * 1_000), isNew: true }, decisions)
  }

  /** Whether every entry was read. Where there is room again, the devices that wait for it are due. */
  caughtUp(isCaughtUp: boolean): void {
    this.#isCaughtUp = isCaughtUp
    if (isCaughtUp) this.#room.wake(this.#ports.reschedule)
  }

  /** The sweep comes by. */
  sweep(actor: Actor, now: Millis, decisions: Deciding): void {
    // by A1
    if (!this.#isCaughtUp || this.dueAt(actor, decisions.deviceOf(actor)) > now) return
    this.#judgeAll(actor, Micros(now * 1_000), decisions)
  }

  /** How an alert of the device is to be shown. */
  shown(actor: Actor, alert: Alert, device: Device, now: Millis): AlertShown {
    const { watch } = actor
    const rule = watch?.fit.ruleIndex.get(alert.ruleId)
    const compiled = rule === undefined ? undefined : watch?.fit.rules[rule]
    if (alert.resolvedAt !== undefined) return { state: 'resolved', suppressedBy: [] }
    if (watch === undefined || rule === undefined || compiled === undefined)
      return { state: 'firing', suppressedBy: [] }
    const occasion = this.#occasion(actor, device, {
      at: Micros(now * 1_000),
      events: NO_EVENTS,
      value: null,
    })
    const phase = phaseAt(watch, rule, device.alerts, now)
    const isSnoozed = alert.snoozedUntil !== undefined && now < alert.snoozedUntil
    const muted = mutedBy(compiled, alert.severity, device.alerts, occasion)
    return {
      state: phase === 'recovering' ? 'recovering' : 'firing',
      suppressedBy: isSnoozed ? [...muted, 'snooze'] : muted,
    }
  }

  /** The alert with the values of now, which are vitals. */
  current(actor: Actor, alert: Alert, now: Millis): Alert {
    const { watch, device } = actor
    const rule = watch?.fit.ruleIndex.get(alert.ruleId)
    if (watch === undefined || rule === undefined || alert.resolvedAt !== undefined) return alert
    const occasion = this.#occasion(actor, device, {
      at: Micros(now * 1_000),
      events: NO_EVENTS,
      value: alert.value,
    })
    const { value, lastValueAt, count } = findingsOf(watch, rule, {
      alerts: device.alerts,
      refreshed: undefined,
      occasion,
    })
    return { ...alert, value: value ?? alert.value, lastValueAt: lastValueAt ?? alert.lastValueAt, count }
  }

  /** Counts what is open or pending on the actor, by its settled record. */
  #count(actor: Actor, now: Millis): void {
    // An actor that was made for one request only is no device of the shard yet.
    if (actor.slot >= 0) this.#counts.note(actor, countedAlerts(actor, now))
  }

  #happened(
    actor: Actor,
    what: AlertHappening,
    { at, isNew }: { readonly at: Micros; readonly isNew: boolean },
    decisions: Deciding,
  ): void {
    const { watch } = actor
    if (watch === undefined || watch.fit.eventLeaves.length === 0) return
    const { leaves, value } = eventLeaves(watch.fit, what)
    if (leaves.size === 0) return
    const rules = [...new Set([...leaves].map((leaf) => watch.fit.ruleOf[leaf] ?? 0))]
    // Lines of the log are read again after a crash. What else happens is decided once, so its count is kept at once.
    const keepsCount = what.kind !== 'log'
    this.#judge(actor, rules, { at, isNew, events: leaves, value, keepsCount }, decisions)
  }

  #judge(
    actor: Actor,
    rules: readonly number[],
    {
      at,
      isNew,
      events = NO_EVENTS,
      value = null,
      keepsCount = false,
    }: {
      readonly at: Micros
      readonly isNew: boolean
      readonly events?: ReadonlySet<number>
      readonly value?: Json
      readonly keepsCount?: boolean
    },
    decisions: Deciding,
  ): void {
    const { watch } = actor
    if (watch === undefined) return
    actor.isDirty = true
    const device = decisions.deviceOf(actor)
    const occasion = { ...this.#occasion(actor, device, { at, events, value }), keepsCount }
    this.effort.begin(rules.length)
    // by A2
    if (isNew)
      tellPending({ actor, watch, rules, at, decisions }, () => {
        const judgement = judge(watch, rules, device.alerts, occasion)
        this.#keep(actor, device, { judgement, at }, decisions)
      })
    else look(watch, rules, device.alerts, occasion)
    this.effort.end()
    this.#count(actor, toMillis(at))
    this.#ports.reschedule(actor)
  }

  #judgeAll(actor: Actor, at: Micros, decisions: Deciding): void {
    const book = this.#book
    if (book === undefined) return
    const { watch } = actor
    const device = decisions.deviceOf(actor)
    const reasonOf = (rule: Alert['ruleId']) => book.reasonOf(rule, device)
    actor.isDirty = true
    if (watch === undefined) {
      const judgement = endOrphans(device.alerts, watch, { reasonOf, now: at })
      this.#keep(actor, device, { judgement, at }, decisions)
      return
    }
    const occasion = this.#occasion(actor, device, { at, events: NO_EVENTS, value: null })
    this.effort.begin(watch.fit.rules.length)
    const rules = [...watch.fit.rules.keys()]
    tellPending({ actor, watch, rules, at, decisions }, () => {
      const judgement = judgeAll(watch, device.alerts, { ...occasion, reasonOf })
      if (!judgement.isHeldBack) this.#room.leave(actor)
      this.#keep(actor, device, { judgement, at }, decisions)
    })
    this.effort.end()
    this.#count(actor, toMillis(at))
    this.#ports.reschedule(actor)
  }

  #keep(
    actor: Actor,
    device: Device,
    { judgement, at }: { readonly judgement: Judgement; readonly at: Micros },
    decisions: Deciding,
  ): void {
    const { moves, isHeldBack } = judgement
    this.#room.judged(actor, isHeldBack)
    if (judgement.alerts === device.alerts) return
    this.#room.fired(moves.filter(({ event }) => event === 'fired').length)
    const alerts = withMemosOf(judgement.alerts, (id) => this.#book?.ruleOf(id) !== undefined)
    const effects = moves.map((move) => ({ kind: 'alert_moved', move }) as const)
    decisions.follow(
      actor,
      device,
      { device: { ...device, alerts }, effects },
      Millis(Math.floor(at / 1_000)),
    )
  }

  #occasion(
    actor: Actor,
    device: Device,
    {
      at,
      events,
      value,
    }: { readonly at: Micros; readonly events: ReadonlySet<number>; readonly value: Json },
  ): Occasion {
    const { graceMsOf, forgivenAt } = this.#ports
    return {
      device,
      sight: { ...sightOf(actor, device), forgivenAtMs: forgivenAt(), graceMs: graceMsOf(device) },
      now: at,
      silences: this.#book?.silences ?? [],
      isUpdating: isUpdating(device.firmware),
      hasRoom: this.#room.left > 0,
      keepsCount: false,
      events,
      eventValue: value,
      message: (rule, alert) => alertMessage(rule, alert, device),
    }
  }
}
