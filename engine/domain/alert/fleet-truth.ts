// What the counts of the fleet say of the leaves of a rule, for one group.
import type { FleetLeaf, FleetMetricLeaf } from '../../../schemas/alert-condition.ts'
import type { Json } from '../../../schemas/json.ts'
import type { CompiledRule } from './compile.ts'
import type { LeafCounts, RuleCounts } from './fleet-counts.ts'
import { aggregateOf } from './fleet-metric.ts'
import { compares, holds, TRUTH, type Truth } from './leaf-truth.ts'

export interface LeafSight {
  readonly truth: Truth
  readonly value: Json
  /** It is true because no member has a value. */
  readonly isNoData: boolean
}

/** `before`: the truths that were found last, which a leaf with a value to clear it, or without a count, goes by. */
export function fleetSights(
  rule: CompiledRule,
  counts: RuleCounts,
  { group, before }: { readonly group: string; readonly before: readonly Truth[] },
): readonly LeafSight[] {
  return rule.leaves.map((leaf, place) => {
    const found = counts.leaves[place] ?? { kind: 'none' }
    const was = before[place] ?? TRUTH.unknown
    if (leaf.kind === 'fleet') return countedSight(leaf, found, group, was)
    if (leaf.kind === 'fleet_metric') return summedSight(leaf, found, { group, was, rule })
    return { truth: TRUTH.no, value: null, isNoData: false }
  })
}

/** The groups that any leaf has counts of. */
export function groupsOf({ leaves }: RuleCounts): readonly string[] {
  const all = leaves.flatMap((leaf) => (leaf.kind === 'none' ? [] : leaf.groups.map(({ group }) => group)))
  return [...new Set(all)].sort()
}

function countedSight(leaf: FleetLeaf, found: LeafCounts, group: string, was: Truth): LeafSight {
  if (found.kind !== 'counts') return { truth: was, value: null, isNoData: false }
  const { members, matching } = found.groups.find((each) => each.group === group) ?? NOBODY
  const value = leaf.unit === 'percent' ? percentOf(matching, members) : matching
  const isEnough = members >= (leaf.min_members ?? 1)
  return { truth: toTruth(isEnough && holds(leaf.op, value, leaf.value)), value, isNoData: false }
}

function summedSight(
  leaf: FleetMetricLeaf,
  found: LeafCounts,
  { group, was, rule }: { readonly group: string; readonly was: Truth; readonly rule: CompiledRule },
): LeafSight {
  // Between two sums nothing is known anew.
  if (found.kind !== 'sums') return { truth: was, value: null, isNoData: false }
  const value = aggregateOf(
    found.groups.find((each) => each.group === group),
    leaf.agg,
  )
  if (value === undefined) {
    const { no_data: policy } = rule.rule
    if (policy === 'keep') return { truth: was, value: null, isNoData: false }
    return { truth: toTruth(policy === 'alert'), value: null, isNoData: policy === 'alert' }
  }
  return {
    truth: toTruth(compares(value, { ...leaf, kind: 'threshold' }, was === TRUTH.yes)),
    value,
    isNoData: false,
  }
}

const NOBODY = { members: 0, matching: 0 }

function percentOf(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part * 10_000) / whole) / 100
}

function toTruth(isTrue: boolean): Truth {
  return isTrue ? TRUTH.yes : TRUTH.no
}
