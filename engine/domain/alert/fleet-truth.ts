// Evaluates the leaves of a fleet rule for one group, from the counts of the fleet.
import type { FleetLeaf, FleetMetricLeaf } from '../../../schemas/alert-condition.ts'
import type { Json } from '../../../schemas/json.ts'
import type { CompiledRule } from './compile.ts'
import type { LeafCounts, RuleCounts } from './fleet-counts.ts'
import { aggregateOf } from './fleet-metric.ts'
import { comparisonHolds, meetsThreshold, TRUTH, type Truth } from './leaf-truth.ts'

export interface LeafResult {
  readonly truth: Truth
  readonly value: Json
  /** It is true because no member has a value. */
  readonly isNoData: boolean
}

/** `before` holds the latest truths. A leaf that has no count now, or that has a clearing value, starts from its own. */
export function fleetLeafResults(
  rule: CompiledRule,
  counts: RuleCounts,
  { group, before }: { readonly group: string; readonly before: readonly Truth[] },
): readonly LeafResult[] {
  return rule.leaves.map((leaf, place) => {
    const leafCounts = counts.leaves[place] ?? { kind: 'none' }
    const was = before[place] ?? TRUTH.unknown
    if (leaf.kind === 'fleet') return countResult(leaf, leafCounts, group, was)
    if (leaf.kind === 'fleet_metric') return sumResult(leaf, leafCounts, { group, was, rule })
    return { truth: TRUTH.no, value: null, isNoData: false }
  })
}

/** The groups that any leaf has counts of. */
export function groupsOf({ leaves }: RuleCounts): readonly string[] {
  const all = leaves.flatMap((leaf) => (leaf.kind === 'none' ? [] : leaf.groups.map(({ group }) => group)))
  return [...new Set(all)].sort()
}

function countResult(leaf: FleetLeaf, counts: LeafCounts, group: string, was: Truth): LeafResult {
  if (counts.kind !== 'counts') return { truth: was, value: null, isNoData: false }
  const { members, matching } = counts.groups.find((each) => each.group === group) ?? NO_MEMBERS
  const exact = leaf.unit === 'percent' ? percentOf(matching, members) : matching
  const isEnough = members >= (leaf.min_members ?? 1)
  const truth = toTruth(isEnough && comparisonHolds(leaf.op, exact, leaf.value))
  return { truth, value: Math.round(exact * 100) / 100, isNoData: false }
}

function sumResult(
  leaf: FleetMetricLeaf,
  counts: LeafCounts,
  { group, was, rule }: { readonly group: string; readonly was: Truth; readonly rule: CompiledRule },
): LeafResult {
  // Sums come only now and then. Between two of them the truth stays as it was.
  if (counts.kind !== 'sums') return { truth: was, value: null, isNoData: false }
  const value = aggregateOf(
    counts.groups.find((each) => each.group === group),
    leaf.agg,
  )
  if (value === undefined) {
    const { no_data: policy } = rule.rule
    if (policy === 'keep') return { truth: was, value: null, isNoData: false }
    return { truth: toTruth(policy === 'alert'), value: null, isNoData: policy === 'alert' }
  }
  return {
    truth: toTruth(meetsThreshold(value, { ...leaf, kind: 'threshold' }, was === TRUTH.yes)),
    value,
    isNoData: false,
  }
}

const NO_MEMBERS = { members: 0, matching: 0 }

function percentOf(part: number, whole: number): number {
  return whole === 0 ? 0 : (part * 100) / whole
}

function toTruth(isTrue: boolean): Truth {
  return isTrue ? TRUTH.yes : TRUTH.no
}
