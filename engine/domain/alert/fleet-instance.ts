// A rule about the fleet, or about one group of it, as the leader judges it: since when its conditions are true, and the
// alerts that came of it. It moves by the same table as the alerts of devices.
import type { Micros, Millis, RuleId } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import type { AlertEndReason } from '../../../schemas/vocabulary.ts'
import { resolveAlert } from './alert-updates.ts'
import { type Alerts, NO_ALERTS, openOf } from './alerts-part.ts'
import type { CompiledRule, Node } from './compile.ts'
import { decide, type Findings, type Move } from './decide.ts'
import type { LeafResult } from './fleet-truth.ts'
import { TRUTH, type Truth } from './leaf-truth.ts'
import { leafOfAlert } from './leaves.ts'

/** Saved with every change, so that another leader continues with its times. */
export interface FleetInstance {
  readonly ruleId: RuleId
  /** Empty for one alert of the whole rule. */
  readonly group: string
  /** The group under which it is shown, and by which scopes are checked. */
  readonly place: string | undefined
  /** The key of the rule to which the other fields belong. */
  readonly key: string
  readonly truths: readonly Truth[]
  /** Microseconds: for each root, and then for the clearing condition, since when it is true; negative if it is false. */
  readonly since: readonly number[]
  /** How often the open alert's condition became true. */
  readonly count: number
  readonly alerts: Alerts
  /** Failures of deployments that have been judged. */
  readonly seen: readonly string[]
}

export interface FleetContext {
  readonly leaves: readonly LeafResult[]
  readonly now: Micros
  /** The event of the rule happens now. */
  readonly isEvent: boolean
  readonly mutedBy: Findings['mutedBy']
  readonly message: Parameters<typeof decide>[1]['message']
}

export interface FleetJudgement {
  /** The same reference if there is nothing to save. */
  readonly instance: FleetInstance
  readonly moves: readonly Move[]
}

const ROUNDS_MAX = 5

export function newFleetInstance(
  rule: CompiledRule,
  group: string,
  place: string | undefined,
): FleetInstance {
  return {
    ruleId: rule.id,
    group,
    place,
    key: rule.key,
    truths: rule.leaves.map(() => TRUTH.unknown),
    since: noTruthTimes(rule),
    count: 1,
    alerts: NO_ALERTS,
    seen: [],
  }
}

/** True if no condition or part of one holds, no alert is open, and what is remembered would not be missed. */
export function isIdle({ truths, since, alerts, seen }: FleetInstance, keptSince: Millis): boolean {
  const isOld = ({ resolvedAt }: Alerts['resolved'][number]) => (resolvedAt ?? 0) < keptSince
  const isForgotten = ({ endedAt, snoozedUntil }: Alerts['memos'][number]) =>
    endedAt < keptSince * 1_000 && (snoozedUntil ?? 0) < keptSince
  return (
    truths.every((truth) => truth !== TRUTH.yes) &&
    since.every((at) => at <= 0) &&
    seen.length === 0 &&
    alerts.open.length === 0 &&
    alerts.resolved.every(isOld) &&
    alerts.memos.every(isForgotten)
  )
}

export function judgeFleet(before: FleetInstance, rule: CompiledRule, context: FleetContext): FleetJudgement {
  if (!context.isEvent) return judgeOnce(before, rule, context)
  const first = judgeOnce(before, rule, context)
  // An event is over at once, which is what its alert's end counts from.
  const afterEvent = context.leaves.map((leaf) => ({ ...leaf, truth: TRUTH.no }))
  const second = judgeOnce(first.instance, rule, { ...context, leaves: afterEvent })
  return { instance: second.instance, moves: [...first.moves, ...second.moves] }
}

/** Resolves the open alert because the rule is no longer judged. */
export function endFleet(before: FleetInstance, reason: AlertEndReason, now: Micros): FleetJudgement {
  let { alerts } = before
  const moves: Move[] = []
  for (const alert of before.alerts.open) {
    const ended = resolveAlert(alerts, alert, { reason, now })
    alerts = ended.alerts
    moves.push({ event: 'resolved', alert: ended.alert, notice: alert.wasTold ? 'resolved' : undefined })
  }
  const since = before.since.map(() => 0)
  return moves.length === 0 ? { instance: before, moves } : { instance: { ...before, alerts, since }, moves }
}

function judgeOnce(before: FleetInstance, rule: CompiledRule, context: FleetContext): FleetJudgement {
  const { now } = context
  const isSameRule = before.key === rule.key
  const known = isSameRule ? before : { ...before, key: rule.key, since: noTruthTimes(rule) }
  const judged = updateTruths(known, rule, context)
  // If a changed rule is still true, it has not become true once more.
  const updated = isSameRule || context.isEvent ? judged : { ...judged, count: before.count }
  const moves: Move[] = []
  let { alerts } = updated
  let nextAt = 0
  for (let round = 0; nextAt === 0 && round < ROUNDS_MAX; round++) {
    const decision = decide(alerts, {
      rule,
      subject: { group: before.group },
      findings: findingsOf({ ...updated, alerts }, rule, context),
      now,
      hasRoom: true,
      message: context.message,
    })
    alerts = decision.alerts
    moves.push(...decision.moves)
    nextAt = decision.nextAt
  }
  const open = openOf(alerts, rule.id)
  const count = open === undefined ? 1 : Math.max(updated.count, open.count)
  const instance = { ...updated, alerts, count }
  return { instance: isSame(before, instance) ? before : instance, moves }
}

function updateTruths(
  known: FleetInstance,
  rule: CompiledRule,
  { leaves, now }: FleetContext,
): FleetInstance {
  const truths = leaves.map(({ truth }) => truth)
  const isOpen = rule.window(Math.floor(now / 1_000)).isInside
  const nodes = [...rule.roots.map(({ node }) => node), ...(rule.clear === undefined ? [] : [rule.clear])]
  const roots = rule.roots.length
  const since = nodes.map((node, i) => {
    const before = known.since[i] ?? 0
    // What clears an alert does so at any time.
    const isTrue = truthOf(node, truths) === TRUTH.yes && (isOpen || i >= roots)
    if (isTrue === before > 0 || (!isTrue && before === 0)) return before
    const when = Math.max(now, Math.abs(before) + 1)
    return isTrue ? when : -when
  })
  const isTrueNow = since.slice(0, roots).some((at) => at > 0)
  const wasTrue = known.since.slice(0, roots).some((at) => at > 0)
  const becameTrue = isTrueNow && !wasTrue && openOf(known.alerts, rule.id) !== undefined
  return { ...known, truths, since, count: known.count + (becameTrue ? 1 : 0) }
}

function findingsOf(
  { since, count, alerts }: FleetInstance,
  rule: CompiledRule,
  { leaves, mutedBy }: FleetContext,
): Findings {
  const roots = rule.roots.length
  const trueNow = leaves.findIndex(({ truth }) => truth === TRUTH.yes)
  const open = openOf(alerts, rule.id)
  // An open alert stays about its leaf, whichever leaves are true now.
  const own = open?.ruleKey === rule.key ? leafOfAlert(rule.leaves, open, trueNow) : -1
  const place = Math.max(0, own === -1 ? trueNow : own)
  const leaf = rule.leaves[place]
  const { value = null, isNoData = false } = leaves[place] ?? {}
  const threshold: Json = leaf !== undefined && 'value' in leaf ? leaf.value : null
  return {
    since: since.slice(0, roots),
    clearSince: rule.clear === undefined ? undefined : (since[roots] ?? 0),
    count: open === undefined ? 1 : count,
    type: isNoData ? 'no_data' : (leaf?.kind ?? 'fleet'),
    metric: leaf?.kind === 'fleet_metric' ? leaf.metric : undefined,
    value,
    lastValueAt: undefined,
    thresholds: rule.roots.map(() => threshold),
    mutedBy,
  }
}

function truthOf(node: Node, truths: readonly Truth[]): Truth {
  if ('leaf' in node) return truths[node.leaf] ?? TRUTH.unknown
  if ('not' in node) return TRUTH.yes - truthOf(node.not, truths)
  if ('all' in node) return Math.min(...node.all.map((each) => truthOf(each, truths)))
  return Math.max(...node.any.map((each) => truthOf(each, truths)))
}

function noTruthTimes({ roots, clear }: CompiledRule): readonly number[] {
  return new Array<number>(roots.length + (clear === undefined ? 0 : 1)).fill(0)
}

function isSame(a: FleetInstance, b: FleetInstance): boolean {
  const isEqual = (x: readonly number[], y: readonly number[]) =>
    x.length === y.length && x.every((each, i) => each === y[i])
  return (
    a.key === b.key &&
    a.alerts === b.alerts &&
    a.count === b.count &&
    isEqual(a.truths, b.truths) &&
    isEqual(a.since, b.since)
  )
}
