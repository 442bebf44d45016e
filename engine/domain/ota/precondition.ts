// Whether a device may begin its update now: a condition over its latest values and its state.
import type { Condition, Leaf } from '../../../schemas/alert-condition.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'
import { meetsThreshold } from '../alert/leaf-truth.ts'

export interface PreconditionFacts {
  readonly status: DeviceStatus
  readonly isConnected: boolean
  /** The newest value of a metric. */
  readonly newestOf: (metric: string) => number | string | undefined
}

/** The kinds of conditions that can be evaluated at a single moment. */
export const PRECONDITION_KINDS = ['threshold', 'state'] as const satisfies readonly Leaf['kind'][]

/** A condition about an unknown value is not met, and neither is its negation. */
export function isMet(condition: Condition, facts: PreconditionFacts): boolean {
  return truthOf(condition, facts) === true
}

function truthOf(condition: Condition, facts: PreconditionFacts): boolean | undefined {
  if ('all' in condition) return allTrue(condition.all.map((each) => truthOf(each, facts)))
  if ('any' in condition) {
    const none = allTrue(condition.any.map((each) => negate(truthOf(each, facts))))
    return negate(none)
  }
  if ('not' in condition) return negate(truthOf(condition.not, facts))
  return leafTruth(condition, facts)
}

function leafTruth(leaf: Leaf, { status, isConnected, newestOf }: PreconditionFacts): boolean | undefined {
  if (leaf.kind === 'state') {
    const isIn = leaf.in === undefined || leaf.in.includes(status)
    return isIn && (leaf.connected === undefined || leaf.connected === isConnected)
  }
  if (leaf.kind !== 'threshold') return undefined
  const value = newestOf(leaf.metric)
  return value === undefined ? undefined : meetsThreshold(value, leaf, false)
}

function allTrue(truths: readonly (boolean | undefined)[]): boolean | undefined {
  if (truths.includes(false)) return false
  return truths.includes(undefined) ? undefined : true
}

function negate(truth: boolean | undefined): boolean | undefined {
  return truth === undefined ? undefined : !truth
}
