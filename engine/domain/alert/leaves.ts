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

/** Whether it is true at single moments only, and never for a while. */
export function isMomentary(condition: Condition): boolean {
  if ('all' in condition) return condition.all.some(isMomentary)
  if ('any' in condition) return condition.any.every(isMomentary)
  return 'not' in condition ? false : isEventLeaf(condition)
}
