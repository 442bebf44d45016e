// Since when a shadow has had a delta: the earliest time of its leaves, where a leaf has the later time of its two sides.
import { isObject, type JsonObject } from '../../../schemas/json.ts'
import { own } from '../shadow/json-object.ts'
import type { LeafTime, LeafTimes } from '../shadow/leaf-times.ts'

/** Milliseconds; undefined if no leaf of the delta has a time. */
export function deltaSince(delta: JsonObject, desired: LeafTimes, reported: LeafTimes): number | undefined {
  let since: number | undefined
  for (const key of Object.keys(delta)) {
    const value = own(delta, key)
    const desiredTime: LeafTime | undefined = own(desired, key)
    const reportedTime: LeafTime | undefined = own(reported, key)
    const at =
      isObject(value) && typeof desiredTime === 'object'
        ? deltaSince(value, desiredTime, typeof reportedTime === 'object' ? reportedTime : {})
        : Math.max(
            typeof desiredTime === 'number' ? desiredTime : 0,
            typeof reportedTime === 'number' ? reportedTime : 0,
          )
    if (at !== undefined) since = Math.min(since ?? at, at)
  }
  return since
}
