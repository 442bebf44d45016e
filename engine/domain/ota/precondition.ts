// Whether a device may begin its update now: a condition over its latest values and its state.
import type { Condition, Leaf } from '../../../schemas/alert-condition.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'
import { meetsThreshold } from '../alert/leaf-truth.ts'

/** What a condition looks at. */
export interface Sighting {
  readonly status: DeviceStatus
  readonly isConnected: boolean
  /** The newest value of a metric. */
  readonly newestOf: (metric: string) => number | string | undefined
}

/** The kinds of conditions that can be evaluated at a single moment. */
export const PRECONDITION_KINDS = ['threshold', 'state'] as const satisfies readonly Leaf['kind'][]

/** A condition about an unknown value is not met, and neither is its negation. */
export function isMet(condition: Condition, sighting: Sighting): boolean {
  return truthOf(condition, sighting) === true
}

function truthOf(condition: Condition, sighting: Sighting): boolean | undefined {
  if ('all' in condition) return every(condition.all.map((each) => truthOf(each, sighting)))
  if ('any' in condition) {
    const none = every(condition.any.map((each) => opposite(truthOf(each, sighting))))
    return opposite(none)
  }
  if ('not' in condition) return opposite(truthOf(condition.not, sighting))
  return leafTruth(condition, sighting)
}

function leafTruth(leaf: Leaf, { status, isConnected, newestOf }: Sighting): boolean | undefined {
  if (leaf.kind === 'state') {
    const isIn = leaf.in === undefined || leaf.in.includes(status)
    return isIn && (leaf.connected === undefined || leaf.connected === isConnected)
  }
  if (leaf.kind !== 'threshold') return undefined
  const value = newestOf(leaf.metric)
  return value === undefined ? undefined : meetsThreshold(value, leaf, false)
}

function every(truths: readonly (boolean | undefined)[]): boolean | undefined {
  if (truths.includes(false)) return false
  return truths.includes(undefined) ? undefined : true
}

function opposite(truth: boolean | undefined): boolean | undefined {
  return truth === undefined ? undefined : !truth
}
