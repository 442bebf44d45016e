// A rule compiled for judging: its tree with numbered leaves, its severities, its windows.
import type { Condition, Leaf } from '../../../schemas/alert-condition.ts'
import type { RuleId } from '../../../schemas/ids.ts'
import { ALERT_SEVERITIES, type AlertSeverity } from '../../../schemas/vocabulary.ts'
import { shortHash } from '../short-hash.ts'
import { isFleetCondition } from './fleet-scope.ts'
import { isMomentary, leavesOf } from './leaves.ts'
import type { Rule } from './rule.ts'
import { type IsMember, membership } from './target.ts'
import { type WindowState, windowClock } from './windows.ts'

/** A tree over the numbers of leaves. */
export type Node =
  | { readonly leaf: number }
  | { readonly all: readonly Node[] }
  | { readonly any: readonly Node[] }
  | { readonly not: Node }

export interface Root {
  readonly severity: AlertSeverity
  readonly rank: number
  readonly node: Node
}

export interface CompiledRule {
  readonly rule: Rule
  readonly id: RuleId
  /** Rules with the same key are judged alike. */
  readonly key: string
  readonly isMember: IsMember
  readonly leaves: readonly Leaf[]
  /** The worst severity first. One root unless the rule has levels. */
  readonly roots: readonly Root[]
  readonly clear: Node | undefined
  /** Its condition is true only at single moments. The alert keeps firing for a while after each. */
  readonly isMomentary: boolean
  /** The leader judges it for the fleet, rather than each device's actor. */
  readonly isAboutFleet: boolean
  /** It compares values, which an offline device cannot report. */
  readonly isAboutValues: boolean
  readonly window: (now: number) => WindowState
}

export function severityRank(severity: AlertSeverity): number {
  return ALERT_SEVERITIES.indexOf(severity)
}

export function compileRule(rule: Rule): CompiledRule {
  const leaves: Leaf[] = []
  const roots = rootsOf(rule).map(({ severity, condition }) => ({
    severity,
    rank: severityRank(severity),
    node: toNode(condition, leaves),
  }))
  const clear = rule.clear === null ? undefined : toNode(rule.clear, leaves)
  const { condition, levels, no_data, no_data_after_sec } = rule
  const judgedFields = JSON.stringify([condition, levels, rule.clear, no_data, no_data_after_sec])
  return {
    rule,
    id: rule.rule_id,
    key: shortHash(judgedFields),
    isMember: membership(rule.target),
    leaves,
    roots: roots.sort((a, b) => b.rank - a.rank),
    clear,
    isMomentary: isMomentary(condition),
    isAboutFleet: isFleetCondition(condition),
    isAboutValues: leavesOf(condition).some(isAboutValue),
    window: windowClock(rule.active),
  }
}

/** A rule comes after those that inhibit it, so that it is judged by what they say at the same moment. */
export function inhibitorsFirst(rules: readonly CompiledRule[]): readonly CompiledRule[] {
  const byId = new Map<string, CompiledRule>(rules.map((rule) => [rule.id, rule]))
  const seen = new Set<CompiledRule>()
  const ordered: CompiledRule[] = []
  const visit = (rule: CompiledRule | undefined) => {
    if (rule === undefined || seen.has(rule)) return
    seen.add(rule)
    for (const id of rule.rule.inhibited_by) visit(byId.get(id))
    ordered.push(rule)
  }
  for (const rule of rules) visit(rule)
  return ordered
}

function isAboutValue(leaf: Leaf): boolean {
  if (leaf.kind === 'repeat') return isAboutValue(leaf.condition)
  return leaf.kind === 'threshold' || leaf.kind === 'range' || leaf.kind === 'rate'
}

function rootsOf({ condition, levels, severity }: Rule): readonly {
  readonly severity: AlertSeverity
  readonly condition: Condition
}[] {
  const isThreshold = 'kind' in condition && condition.kind === 'threshold'
  if (levels === null || !isThreshold) return [{ severity, condition }]
  const { metric, op } = condition
  return levels.map(({ severity: level, value, clear_value }) => ({
    severity: level,
    condition: {
      kind: 'threshold',
      metric,
      op,
      value,
      ...(clear_value === undefined ? {} : { clear_value }),
    },
  }))
}

function toNode(condition: Condition, leaves: Leaf[]): Node {
  if ('all' in condition) return { all: condition.all.map((each) => toNode(each, leaves)) }
  if ('any' in condition) return { any: condition.any.map((each) => toNode(each, leaves)) }
  if ('not' in condition) return { not: toNode(condition.not, leaves) }
  return { leaf: leaves.push(condition) - 1 }
}
