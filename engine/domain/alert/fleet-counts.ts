// The counts that owners of devices send to the leader for rules about the fleet, merged.
import type { RuleId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { type MetricSum, mergeSums } from './fleet-metric.ts'
import type { GroupCount } from './fleet-tally.ts'

/** A leaf by its place among the rule's leaves. */
export interface LeafName {
  readonly ruleId: RuleId
  readonly place: number
}

export type LeafCounts =
  | { readonly kind: 'counts'; readonly groups: readonly GroupCount[] }
  | { readonly kind: 'sums'; readonly groups: readonly MetricSum[] }
  /** It was not asked for, or no owner counts it. */
  | { readonly kind: 'none' }

export interface RuleCounts {
  readonly ruleId: RuleId
  readonly revision: number
  readonly leaves: readonly LeafCounts[]
}

/** Plain data. */
export interface FleetCounts {
  /** False while an owner still reads its backlog, so its counts are not valid yet. */
  readonly isCaughtUp: boolean
  readonly rules: readonly RuleCounts[]
  /** Open alerts, and true conditions whose alert waits for room. */
  readonly open: number
  readonly overflowing: number
}

/** Only what all of them count under the same revision. */
export function mergeFleetCounts(answers: readonly FleetCounts[]): FleetCounts {
  const [first] = answers
  const rules = (first?.rules ?? []).flatMap((rule): readonly RuleCounts[] => {
    const all = answers.map((answer) =>
      answer.rules.find(({ ruleId, revision }) => ruleId === rule.ruleId && revision === rule.revision),
    )
    const parts = all.filter((each) => each !== undefined)
    if (parts.length < answers.length) return []
    return [
      {
        ...rule,
        leaves: rule.leaves.map((_, place) => mergeLeaf(parts.map(({ leaves }) => leaves[place]))),
      },
    ]
  })
  return {
    isCaughtUp: answers.every(({ isCaughtUp }) => isCaughtUp),
    rules,
    open: answers.reduce((sum, { open }) => sum + open, 0),
    overflowing: answers.reduce((sum, { overflowing }) => sum + overflowing, 0),
  }
}

/** Keeps the first groups by name. So does every owner, so a group that is kept of all has the members of every owner. */
export function boundGroups<T extends { readonly group: string }>(groups: readonly T[]): readonly T[] {
  if (groups.length <= LIMITS.fleetGroupsMax) return groups
  return groups.toSorted((a, b) => (a.group < b.group ? -1 : 1)).slice(0, LIMITS.fleetGroupsMax)
}

/** Whether a group may have members that are not counted, because there are more groups than are kept. */
export function isLeftOut({ leaves }: RuleCounts, group: string): boolean {
  return leaves.some(
    (leaf) =>
      leaf.kind !== 'none' &&
      leaf.groups.length >= LIMITS.fleetGroupsMax &&
      leaf.groups.every((kept) => kept.group < group),
  )
}

function mergeLeaf(parts: readonly (LeafCounts | undefined)[]): LeafCounts {
  const counts = parts.flatMap((part) => (part?.kind === 'counts' ? [part.groups] : []))
  const sums = parts.flatMap((part) => (part?.kind === 'sums' ? [part.groups] : []))
  if (counts.length === parts.length) return { kind: 'counts', groups: boundGroups(mergeGroupCounts(counts)) }
  if (sums.length === parts.length) return { kind: 'sums', groups: boundGroups(mergeSums(sums)) }
  return { kind: 'none' }
}

function mergeGroupCounts(parts: readonly (readonly GroupCount[])[]): readonly GroupCount[] {
  const all = new Map<string, GroupCount>()
  for (const { group, members, matching } of parts.flat()) {
    const known = all.get(group) ?? { group, members: 0, matching: 0 }
    all.set(group, { group, members: known.members + members, matching: known.matching + matching })
  }
  return [...all.values()]
}
