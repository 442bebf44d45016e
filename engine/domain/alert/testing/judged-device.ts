// A device with rules, in a test's own time: values and seconds go in, moves of alerts come out.

import type { RuleRequestBody } from '../../../../schemas/alert-rule.ts'
import { type DeviceId, Micros, Millis, type RuleId } from '../../../../schemas/ids.ts'
import type { Device } from '../../device/record.ts'
import { register } from '../../device/transition.ts'
import { newPackr } from '../../packing.ts'
import { Fields } from '../../telemetry/fields.ts'
import type { AlertAct } from '../acts.ts'
import { applyAct } from '../acts.ts'
import { type Alerts, NO_ALERTS } from '../alerts-part.ts'
import type { Move } from '../decide.ts'
import type { Fit } from '../fit.ts'
import { endOrphans, type JudgeContext, judgeAll, judgeRules } from '../judge.ts'
import { createRule, type Rule } from '../rule.ts'
import { RuleBook } from '../rule-book.ts'
import type { Silence } from '../silence.ts'
import type { Watch } from '../watch.ts'
import { type MetricValue, restoreWatch, toMemory, type WatchMemory } from '../watch-memory.ts'

export const START = Date.parse('2026-03-02T10:00:00Z')

export interface ObservedMove {
  /** Seconds since the start. */
  readonly at: number
  readonly event: Move['event']
  readonly notice: Move['notice']
  readonly ruleId: string
  readonly severity: string
  readonly count: number
  readonly reason: string | undefined
}

export function ruleOf(wish: Partial<RuleRequestBody>, id = 'rul_1'): Rule {
  const made = createRule(
    {
      name: 'test',
      target: { type: 'all' },
      condition: { kind: 'threshold', metric: 'm', op: '>', value: 10 },
      ...wish,
    },
    { id, by: 'usr_ann', now: Millis(START) },
  )
  if (made.kind === 'mistakes') throw new Error(JSON.stringify(made.errors))
  return made.rule
}

export class JudgedDevice {
  alerts: Alerts = NO_ALERTS
  readonly seen: ObservedMove[] = []
  readonly moves: Move[] = []
  device: Device
  #book: RuleBook
  #watch: Watch | undefined
  #at = 0
  #connected = false
  #flapsUntilMs = 0
  /** What was reported last, for a rule that fits again. */
  readonly #known = new Map<string, MetricValue>()
  #receivedAt = 0
  #forgivenAtMs = 0
  /** Every judgement happens at a moment of its own, as messages do. */
  #micros = 0

  constructor(rules: readonly Rule[], silences: readonly Silence[] = []) {
    // A device id as the ingress lets it in.
    const id = 'robot-7' as DeviceId
    const request = { kind: 'register', name: 'Robot 7', type: 'mqtt_device', group: 'plant/a' } as const
    const by = { kind: 'user', id: 'usr_ann' } as const
    this.device = { ...register(id, request, by, Millis(START)).device, status: 'online' }
    this.#book = new RuleBook({ revision: 1, rules, silences })
    this.#refit()
  }

  get watch(): Watch | undefined {
    return this.#watch
  }

  fit(): Fit {
    if (this.#watch === undefined) throw new Error('no rule fits')
    return this.#watch.fit
  }

  /** Other rules count from now on. */
  settings(rules: readonly Rule[], silences: readonly Silence[] = []): void {
    this.#book = new RuleBook({ revision: this.#book.settings.revision + 1, rules, silences }, this.#book)
    this.#refit()
  }

  /** Values that are received at this second. */
  report(at: number, values: Readonly<Record<string, number | string | boolean>>, eventAt = at): void {
    this.#reach(at)
    const fields = new Fields()
    const eventTime = Micros((START + eventAt * 1_000) * 1_000)
    for (const [name, value] of Object.entries(values)) {
      fields.add(name, name, value)
      this.#known.set(name, { value: Number(value), at: eventTime, receivedAt: this.#now() })
    }
    this.#receivedAt = this.#now()
    const watch = this.#watch
    if (watch === undefined) return
    const reports = [{ at: eventTime, fields }]
    if (watch.feedReports(reports, this.#now())) this.#judge(watch.takeFlagged())
    this.#micros++
  }

  change(at: number, fields: Partial<Device>): void {
    this.#reach(at)
    this.device = { ...this.device, ...fields, statusSince: Millis(START + at * 1_000) }
    this.#refit()
    this.look(at)
  }

  connect(at: number, connected: boolean): void {
    this.#reach(at)
    this.#connected = connected
    this.look(at)
  }

  /** Its connection comes and goes, which is over at the second `until`. */
  flap(at: number, until: number): void {
    this.#reach(at)
    this.#flapsUntilMs = START + until * 1_000
    if (this.#watch !== undefined) this.#watch.deadline = 0
    this.look(at)
  }

  /** The process was asleep until this second. */
  wake(at: number): void {
    this.#reach(at)
    this.#forgivenAtMs = START + at * 1_000
    if (this.#watch !== undefined) this.#watch.deadline = 0
    this.look(at)
  }

  /** An event of this leaf. */
  happen(at: number, kind: string, value = ''): void {
    this.#reach(at)
    const watch = this.#watch
    if (watch === undefined) return
    const places = watch.fit.eventLeaves.filter((place) => {
      const leaf = watch.fit.leaves[place]?.leaf
      return leaf?.kind === kind || (leaf?.kind === 'repeat' && leaf.condition.kind === kind)
    })
    const rules = [...new Set(places.map((place) => watch.fit.leaves[place]?.rule ?? -1))]
    this.#judge(rules, new Set(places), value)
  }

  act(at: number, wish: AlertAct): ReturnType<typeof applyAct> {
    this.#reach(at)
    const [open = this.alerts.resolved[0]] = this.alerts.open
    if (open === undefined) throw new Error('no alert')
    const outcome = applyAct(this.alerts, open.id, wish, { by: 'usr_bob', now: Millis(START + at * 1_000) })
    if (outcome.kind === 'acted') {
      this.alerts = outcome.alerts
      if (outcome.move !== undefined) this.#note([outcome.move])
      if (this.#watch !== undefined) this.#watch.deadline = 0
    }
    return outcome
  }

  /** The sweep of this second. */
  look(at: number): void {
    this.#reach(at)
    const watch = this.#watch
    if (watch === undefined || watch.deadline > START + at * 1_000) return
    const { alerts, moves } = judgeAll(this.alerts, {
      ...this.#occasion(),
      watch,
      reasonOf: (rule) => this.#book.reasonOf(rule, this.device),
    })
    this.alerts = alerts
    this.#note(moves)
  }

  /** The process ends, and another begins with what was saved. */
  restart(): void {
    if (this.#watch === undefined) return
    const packr = newPackr()
    // Written by `remember`.
    const memory = packr.unpack(packr.pack(toMemory(this.#watch))) as WatchMemory
    this.alerts = packr.unpack(packr.pack(this.alerts)) as Alerts
    this.#watch = restoreWatch(this.#watch.fit, memory, { receivedAt: 0, latestOf: () => undefined })
  }

  /** What `look` says, for every second up to this one. */
  passTo(at: number): void {
    for (let second = this.#at; second <= at; second++) this.look(second)
  }

  #refit(): void {
    const { fit } = this.#book.fitFor(this.device)
    const before = this.#watch
    if (before !== undefined && before.fit === fit) {
      before.deadline = 0
      return
    }
    if (fit !== undefined) {
      const latestOf = (metric: string) => this.#known.get(metric)
      const known = { receivedAt: this.#receivedAt, latestOf }
      this.#watch = restoreWatch(fit, before && toMemory(before), known)
      return
    }
    this.#watch = undefined
    const reasonOf = (rule: RuleId) => this.#book.reasonOf(rule, this.device)
    const { alerts, moves } = endOrphans(this.alerts, undefined, { reasonOf, now: this.#now() })
    this.alerts = alerts
    this.#note(moves)
  }

  #reach(at: number): void {
    if (at < this.#at) throw new Error('time goes on')
    if (at > this.#at) this.#micros = 0
    this.#at = at
  }

  #now(): Micros {
    return Micros((START + this.#at * 1_000) * 1_000 + this.#micros)
  }

  #occasion(events: ReadonlySet<number> = new Set(), eventValue = ''): JudgeContext {
    return {
      device: this.device,
      facts: {
        device: this.device,
        connected: this.#connected,
        connectedSinceMs: START,
        flapsUntilMs: this.#flapsUntilMs,
        forgivenAtMs: this.#forgivenAtMs,
        graceMs: 60_000,
      },
      now: this.#now(),
      silences: this.#book.silences,
      isUpdating: false,
      keepsCount: true,
      hasRoom: true,
      events,
      eventValue,
      message: () => 'a message',
    }
  }

  #judge(rules: readonly number[], events?: ReadonlySet<number>, value?: string): void {
    const watch = this.#watch
    if (watch === undefined) return
    const { alerts, moves } = judgeRules(rules, this.alerts, { ...this.#occasion(events, value), watch })
    this.alerts = alerts
    this.#note(moves)
  }

  #note(moves: readonly Move[]): void {
    this.moves.push(...moves)
    for (const { event, notice, alert } of moves)
      this.seen.push({
        at: this.#at,
        event,
        notice,
        ruleId: alert.ruleId,
        severity: alert.severity,
        count: alert.count,
        reason: alert.reason,
      })
  }
}
