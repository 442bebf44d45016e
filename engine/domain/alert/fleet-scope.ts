// Whether a condition is about each device by itself or about the fleet. One about the fleet is judged by the leader.
import type { Condition, Leaf } from '../../../schemas/alert-condition.ts'
import type { FieldError } from '../../../schemas/problem.ts'
import { leavesOf } from './leaves.ts'

/** A failed deployment is an event of the fleet, a failed job one of its device. */
export function isDeploymentLeaf(leaf: Leaf): boolean {
  return leaf.kind === 'deployment_failed' && [leaf.of ?? 'device'].flat()[0] === 'deployment'
}

function isFleetLeaf(leaf: Leaf): boolean {
  return leaf.kind === 'fleet' || leaf.kind === 'fleet_metric' || isDeploymentLeaf(leaf)
}

/** All leaves are of one scope, by the check of the condition. */
export function isFleetCondition(condition: Condition): boolean {
  const [first] = leavesOf(condition)
  return first !== undefined && isFleetLeaf(first)
}

/** Segments of the group path by which the alerts of the rule are told apart; undefined for one alert of the rule. */
export function groupLevelOf(condition: Condition): number | undefined {
  const [first] = leavesOf(condition)
  return first?.kind === 'fleet' || first?.kind === 'fleet_metric' ? first.group_level : undefined
}

/** If there is a negation, the condition may be true although no leaf is. */
export function hasNegation(condition: Condition): boolean {
  return JSON.stringify(condition).includes('"not"')
}

export function checkScope(condition: Condition, path: string): readonly FieldError[] {
  const leaves = leavesOf(condition)
  const isMixed = leaves.some(isFleetLeaf) && !leaves.every(isFleetLeaf)
  const wrong = (message: string) => [{ path, code: 'NOT_ALLOWED', message }]
  if (leaves.some((leaf) => leaf.kind === 'repeat' && isFleetLeaf(leaf.condition)))
    return wrong('cannot repeat a condition about the fleet')
  if (isMixed) return wrong('cannot be about the fleet and about single devices at once: make two rules')
  if (leaves.length > 1 && leaves.some(isDeploymentLeaf))
    return wrong('cannot have other conditions beside the failed deployment')
  const levels = new Set(leaves.map((leaf) => ('group_level' in leaf ? leaf.group_level : undefined)))
  return levels.size > 1 ? wrong('must have the same group_level everywhere') : []
}
