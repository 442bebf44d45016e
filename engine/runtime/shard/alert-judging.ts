// Judges the rules of an actor and keeps the result as a decision about its device.
//
// J1. An entry that is read again updates the vitals and decides nothing.
// J2. For a device, time does not go back: a sweep that is behind judges as of its last judgement. Otherwise a silence or a
//     window that has begun since would count as not begun, and what it mutes would be told.
import { Micros, Millis, toMillis } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import { type Alert, withMemosOf } from '../../domain/alert/alerts-part.ts'
import { alertMessage } from '../../domain/alert/body.ts'
import {
  endOrphans,
  type JudgeContext,
  type Judgement,
  judgeAll,
  judgeRules,
  updateWatch,
} from '../../domain/alert/judge.ts'
import type { RuleBook } from '../../domain/alert/rule-book.ts'
import type { Outcome } from '../../domain/device/events.ts'
import type { Device } from '../../domain/device/record.ts'
import { isUpdating } from '../../domain/ota/firmware-jobs.ts'
import type { FeedEvent } from '../../ports/feed.ts'
import type { Actor } from './actor.ts'
import { AlertCapacity } from './alert-capacity.ts'
import { AlertEffort } from './alert-effort.ts'
import { publishPending } from './alert-pending.ts'
import { sightOf } from './alert-phases.ts'

export interface AlertJudgingPorts {
  readonly book: () => RuleBook | undefined
  /** How long a device may be silent. */
  readonly graceMsOf: (device: Device) => number
  /** Every device counts as heard at this time or later. */
  readonly forgivenAt: () => number
  /** How many alerts may be open on the devices of this shard. */
  readonly openMax: () => number
  /** How many alerts are open in settled records. */
  readonly open: () => number
  readonly ticks: () => number
  /** Called when judging has changed the actor's vitals. */
  readonly judged: (actor: Actor, now: Millis) => void
}

/** Keeps the result of a judgement like that of any other decision. */
export interface AlertDecisions {
  deviceOf(actor: Actor): Device
  follow(actor: Actor, before: Device | undefined, outcome: Outcome, now: Millis): unknown
  publish(events: readonly FeedEvent[]): void
}

const NO_EVENTS: ReadonlySet<number> = new Set()

export class AlertJudging {
  readonly #ports: AlertJudgingPorts
  readonly #capacity: AlertCapacity
  readonly effort: AlertEffort

  constructor(ports: AlertJudgingPorts) {
    this.#ports = ports
    this.effort = new AlertEffort(ports.ticks)
    this.#capacity = new AlertCapacity(ports.openMax, ports.open)
  }

  /** Devices that wait for room although a condition is true on them. */
  get waiting(): ReadonlySet<Actor> {
    return this.#capacity.waiting
  }

  /** Called when the open proposal is settled: its alerts now count as open. */
  settled(): void {
    this.#capacity.settled()
  }

  /** Called when no rules are judged for the actor any more. */
  forget(actor: Actor): void {
    this.#capacity.stopWaiting(actor)
  }

  /** Makes as many of the waiting devices due as there is room for. */
  wake(reschedule: (actor: Actor) => void): void {
    this.#capacity.wake(reschedule)
  }

  judge(
    actor: Actor,
    rules: readonly number[],
    {
      at: eventAt,
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
    decisions: AlertDecisions,
  ): void {
    const { watch } = actor
    if (watch === undefined) return
    const at = judgementTime(actor, eventAt)
    actor.isDirty = true
    const device = decisions.deviceOf(actor)
    const occasion = { ...this.occasion(actor, device, { at, events, value }), watch, keepsCount }
    this.effort.begin(rules.length)
    // by J1
    if (isNew)
      publishPending({ actor, watch, rules, at, decisions }, () => {
        const judgement = judgeRules(rules, device.alerts, occasion)
        this.#keep(actor, device, { judgement, at }, decisions)
      })
    else updateWatch(rules, device.alerts, occasion)
    this.effort.end()
    this.#ports.judged(actor, toMillis(at))
  }

  judgeAll(actor: Actor, eventAt: Micros, decisions: AlertDecisions): void {
    const book = this.#ports.book()
    if (book === undefined) return
    const at = judgementTime(actor, eventAt)
    const { watch } = actor
    const device = decisions.deviceOf(actor)
    const reasonOf = (rule: Alert['ruleId']) => book.reasonOf(rule, device)
    actor.isDirty = true
    if (watch === undefined) {
      const judgement = endOrphans(device.alerts, watch, { reasonOf, now: at })
      this.#keep(actor, device, { judgement, at }, decisions)
      return
    }
    const occasion = this.occasion(actor, device, { at })
    this.effort.begin(watch.fit.rules.length)
    const rules = [...watch.fit.rules.keys()]
    publishPending({ actor, watch, rules, at, decisions }, () => {
      const judgement = judgeAll(device.alerts, { ...occasion, watch, reasonOf })
      if (!judgement.isHeldBack) this.#capacity.stopWaiting(actor)
      this.#keep(actor, device, { judgement, at }, decisions)
    })
    this.effort.end()
    this.#ports.judged(actor, toMillis(at))
  }

  #keep(
    actor: Actor,
    device: Device,
    { judgement, at }: { readonly judgement: Judgement; readonly at: Micros },
    decisions: AlertDecisions,
  ): void {
    const { moves, isHeldBack } = judgement
    this.#capacity.judged(actor, isHeldBack)
    if (judgement.alerts === device.alerts) return
    this.#capacity.fired(moves.filter(({ event }) => event === 'fired').length)
    const alerts = withMemosOf(judgement.alerts, (id) => this.#ports.book()?.ruleOf(id) !== undefined)
    const effects = moves.map((move) => ({ kind: 'alert_moved', move }) as const)
    decisions.follow(
      actor,
      device,
      { device: { ...device, alerts }, effects },
      Millis(Math.floor(at / 1_000)),
    )
  }

  /** The circumstances by which the actor's rules are judged. */
  occasion(
    actor: Actor,
    device: Device,
    {
      at,
      events = NO_EVENTS,
      value = null,
    }: { readonly at: Micros; readonly events?: ReadonlySet<number>; readonly value?: Json },
  ): JudgeContext {
    const { graceMsOf, forgivenAt, book } = this.#ports
    return {
      device,
      facts: { ...sightOf(actor, device), forgivenAtMs: forgivenAt(), graceMs: graceMsOf(device) },
      now: at,
      silences: book()?.silences ?? [],
      isUpdating: isUpdating(device.firmware),
      hasRoom: this.#capacity.free > 0,
      keepsCount: false,
      events,
      eventValue: value,
      message: (rule, alert) => alertMessage(rule, alert, device),
    }
  }
}

/** by J2 */
function judgementTime(actor: Actor, at: Micros): Micros {
  if (at > actor.judgedAt) actor.judgedAt = at
  return Micros(actor.judgedAt)
}
