// The delta: leaves of the desired state that are missing in the reported state or differ there. Never stored (R5).
import type { JsonObject } from '../../../schemas/json.ts'
import { isEmpty, isEqual, own } from './json-object.ts'
import { toMetadata } from './leaf-times.ts'
import { computeDelta, deltaValue } from './merge.ts'
import type { Shadow } from './record.ts'

export interface Delta {
  readonly state: JsonObject
  /** Times of the desired leaves in `state`. */
  readonly metadata: JsonObject
}

export function shadowDelta({ desired, reported, desiredTimes }: Shadow): Delta {
  const state = computeDelta(desired, reported)
  return { state, metadata: toMetadata(state, desiredTimes) }
}

/** True if nothing desired is missing in the reported state. */
export function isInSync({ desired, reported }: Pick<Shadow, 'desired' | 'reported'>): boolean {
  return desired === reported || isEmpty(desired) || isEmpty(computeDelta(desired, reported))
}

/** True if a change of these top-level keys, on either side, changed the delta. */
export function isDeltaMoved(before: Shadow, after: Shadow, patch: JsonObject): boolean {
  return Object.keys(patch).some((key) => {
    const was = deltaValue(own(before.desired, key), own(before.reported, key))
    return !isEqual(was, deltaValue(own(after.desired, key), own(after.reported, key)))
  })
}
