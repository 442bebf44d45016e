// Tests a rule on a device's past: stored points and moves are judged by the same functions as live ones, at the time of the
// event.
import type { Leaf } from '../../../schemas/alert-condition.ts'
import { Micros, type Millis } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import { Fields } from '../telemetry/fields.ts'
import { type Alert, NO_ALERTS } from './alerts-part.ts'
import { compileRule } from './compile.ts'
import type { Move } from './decide.ts'
import { Fit } from './fit.ts'
import { isDeploymentLeaf } from './fleet-scope.ts'
import { judgeAll, judgeRules, type WatchedContext } from './judge.ts'
import { leafOfAlert, leavesOf } from './leaves.ts'
import type { Rule } from './rule.ts'
import type { Subject } from './subject.ts'
import { Watch } from './watch.ts'

export type PastEvent =
  | { readonly kind: 'value'; readonly at: number; readonly metric: string; readonly value: number | string }
  | {
      readonly kind: 'status'
      readonly at: number
      readonly before: Subject['status'] | undefined
      readonly status: Subject['status']
    }
  | {
      readonly kind: 'failure'
      readonly at: number
      readonly of: 'command_failed' | 'deployment_failed'
      readonly command: string | undefined
      readonly status: string
    }

export interface Episode {
  readonly startedAt: Micros
  readonly firedAt: Millis
  readonly resolvedAt: Millis | undefined
  /** The value furthest in the direction of the condition; null if it is no number. */
  readonly peak: Json
  readonly count: number
}

export interface RuleTrial {
  readonly episodes: readonly Episode[]
  readonly notifications: number
}

const STEPS_MAX = 200_000
const NO_EVENTS: ReadonlySet<number> = new Set()
/** Kinds that follow from what is stored of a device. */
const TESTABLE: ReadonlySet<string> = new Set([
  ...['threshold', 'range', 'absence', 'rate', 'repeat', 'state', 'command_failed', 'deployment_failed'],
  'heartbeat',
])

/** The first kind in the rule for which nothing is stored. */
export function untestableKind({ condition, clear }: Pick<Rule, 'condition' | 'clear'>): string | undefined {
  const leaves = [...leavesOf(condition), ...(clear === null ? [] : leavesOf(clear))]
  const inner = leaves.map((leaf) => (leaf.kind === 'repeat' ? leaf.condition : leaf))
  const leaf = inner.find(
    (leaf) =>
      !TESTABLE.has(leaf.kind) ||
      (leaf.kind === 'state' && leaf.connected !== undefined) ||
      // The history of a device tells of its own jobs only.
      isDeploymentLeaf(leaf),
  )
  return leaf?.kind === 'state' ? 'state with connected' : leaf?.kind
}

/** `events` are in the order of their time, in microseconds. */
export function tryRule(
  rule: Rule,
  subject: Subject,
  { events, from, to }: { readonly events: Iterable<PastEvent>; readonly from: Millis; readonly to: Millis },
): RuleTrial {
  const compiled = compileRule({ ...rule, activated_at: from })
  const trial = new Trial(new Watch(new Fit([compiled])), { ...subject, statusSince: from }, from)
  for (const event of events) {
    trial.advanceTo(event.at)
    trial.apply(event)
  }
  trial.advanceTo(to * 1_000)
  return trial.result()
}

/** Whether the leaf is true of values that are too low, such as this one. */
function isBelow(leaf: Leaf, low: number): boolean {
  if (leaf.kind === 'range') return leaf.min !== undefined && low < leaf.min
  return 'op' in leaf && leaf.op.startsWith('<')
}

class Trial {
  readonly #watch: Watch
  readonly #createdAt: Millis
  #device: Subject
  #alerts = NO_ALERTS
  #steps = 0
  #notifications = 0
  readonly #episodes = new Map<string, { alert: Alert; low: number; high: number }>()

  constructor(watch: Watch, device: Subject, from: Millis) {
    this.#watch = watch
    this.#device = device
    this.#createdAt = from
  }

  /** Lets time pass up to `at`. Each deadline is judged at its own time. */
  advanceTo(at: number): void {
    const watch = this.#watch
    while (watch.deadline * 1_000 <= at && this.#steps++ < STEPS_MAX) {
      const due = Micros(Math.max(watch.deadline, this.#createdAt) * 1_000)
      const context = { ...this.#context(due), reasonOf: () => 'target_left' as const }
      const { alerts, moves } = judgeAll(this.#alerts, context)
      this.#alerts = alerts
      this.#recordMoves(moves)
      if (watch.deadline * 1_000 <= due) watch.deadline = Math.floor(due / 1_000) + 1
    }
  }

  apply(event: PastEvent): void {
    const watch = this.#watch
    const at = Micros(event.at)
    if (event.kind === 'value') {
      const fields = new Fields()
      fields.add(event.metric, event.metric, event.value)
      if (watch.feedReports([{ at, fields }], at)) this.#judge(watch.takeFlagged(), at)
      // A value that ends an alert is none of its values.
      this.#recordPeaks(event.metric)
      return
    }
    if (event.kind === 'status') {
      const statusSince = Math.floor(event.at / 1_000) as Millis
      this.#device = { ...this.#device, status: event.status, statusSince }
      this.#judge([...watch.fit.rules.keys()], at)
      return
    }
    const places = watch.fit.eventLeaves.filter((place) => {
      const leaf = watch.fit.leaves[place]?.leaf
      const inner = leaf?.kind === 'repeat' ? leaf.condition : leaf
      if (inner?.kind !== event.of) return false
      if (inner.kind !== 'command_failed') return true
      const { command = event.command, statuses } = inner
      return command === event.command && (statuses?.some((each) => each === event.status) ?? true)
    })
    if (places.length > 0) this.#judge([0], at, new Set(places), event.status)
  }

  result(): RuleTrial {
    const episodes = [...this.#episodes.values()].map(({ alert, low, high }): Episode => {
      const { leaf } = this.#watch.fit.leaves[this.#placeOf(alert)] ?? {}
      const peak = leaf !== undefined && isBelow(leaf, low) ? low : high
      return {
        startedAt: alert.startedAt,
        firedAt: alert.firedAt,
        resolvedAt: alert.resolvedAt,
        peak: Number.isFinite(peak) ? peak : null,
        count: alert.count,
      }
    })
    return { episodes, notifications: this.#notifications }
  }

  #judge(rules: readonly number[], at: Micros, events = NO_EVENTS, value: Json = null): void {
    if (rules.length === 0) return
    const context = { ...this.#context(at), events, eventValue: value }
    const { alerts, moves } = judgeRules(rules, this.#alerts, context)
    this.#alerts = alerts
    this.#recordMoves(moves)
  }

  #recordMoves(moves: readonly Move[]): void {
    for (const { alert, notice } of moves) {
      const value = typeof alert.value === 'number' ? alert.value : undefined
      const known = this.#episodes.get(alert.id)
      this.#episodes.set(alert.id, {
        alert,
        low: Math.min(
          known?.low ?? Number.POSITIVE_INFINITY,
          known === undefined ? (value ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY,
        ),
        high: Math.max(
          known?.high ?? Number.NEGATIVE_INFINITY,
          known === undefined ? (value ?? Number.NEGATIVE_INFINITY) : Number.NEGATIVE_INFINITY,
        ),
      })
      if (notice !== undefined) this.#notifications++
    }
    for (const alert of this.#alerts.open) {
      const known = this.#episodes.get(alert.id)
      if (known !== undefined) known.alert = alert
    }
  }

  /** Notes the value that an alert is about, if it is one of this metric. */
  #recordPeaks(metric: string): void {
    const { fit } = this.#watch
    for (const alert of this.#alerts.open) {
      const place = this.#placeOf(alert)
      const { value } = this.#watch.valueOf(place)
      const known = this.#episodes.get(alert.id)
      if (known === undefined || typeof value !== 'number') continue
      if (fit.metrics[fit.leaves[place]?.metric ?? -1] !== metric) continue
      known.low = Math.min(known.low, value)
      known.high = Math.max(known.high, value)
    }
  }

  /** The leaf that the alert is about. */
  #placeOf(alert: Alert): number {
    const { rules, leavesOf: places } = this.#watch.fit
    return places[0]?.[leafOfAlert(rules[0]?.leaves ?? [], alert)] ?? -1
  }

  #context(now: Micros): WatchedContext {
    const device = this.#device
    return {
      watch: this.#watch,
      device,
      facts: {
        device: { ...device, createdAt: this.#createdAt },
        connected: device.status === 'online',
        connectedSinceMs: device.statusSince,
        flapsUntilMs: 0,
        forgivenAtMs: 0,
        graceMs: 0,
      },
      now,
      silences: [],
      isUpdating: false,
      events: NO_EVENTS,
      eventValue: null,
      keepsCount: true,
      hasRoom: true,
      message: () => '',
    }
  }
}
