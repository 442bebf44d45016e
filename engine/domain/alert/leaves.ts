// The leaves of a condition.
import type { Condition, Leaf } from '../../../schemas/alert-condition.ts'

/** It is true at its moment only. */
export function isEventLeaf({ kind }: Leaf): boolean {
  return kind === 'log' || kind === 'command_failed' || kind === 'dead_letter' || kind === 'deployment_failed'
}

export function leavesOf(condition: Condition): readonly Leaf[] {
  if ('all' in condition) return condition.all.flatMap(leavesOf)
  if ('any' in condition) return condition.any.flatMap(leavesOf)
  if ('not' in condition) return leavesOf(condition.not)
  return [condition]
}

/** The number of the leaf that an alert is about, by its type and metric. -1 if there is none. Of several, the one that is
 *  true now, which may be given. */
export function leafOfAlert(
  leaves: readonly Leaf[],
  { type, metric }: { readonly type: string; readonly metric: string | undefined },
  trueNow?: number,
): number {
  const metricOf = (leaf: Leaf) => ('metric' in leaf ? leaf.metric : undefined)
  const isExact = (leaf: Leaf | undefined) =>
    leaf !== undefined && leaf.kind === type && metricOf(leaf) === metric
  if (trueNow !== undefined && isExact(leaves[trueNow])) return trueNow
  const exact = leaves.findIndex(isExact)
  if (exact !== -1 || metric === undefined) return exact
  // An alert about missing values has a type of its own.
  return leaves.findIndex((leaf) => metricOf(leaf) === metric)
}

/** Whether it is true at single moments only, and never for a while. */
export function isMomentary(condition: Condition): boolean {
  if ('all' in condition) return condition.all.some(isMomentary)
  if ('any' in condition) return condition.any.every(isMomentary)
  return 'not' in condition ? false : isEventLeaf(condition)
}
