// JSON Merge Patch (RFC 7396): null deletes, objects merge, everything else replaces.
//
// Unchanged parts are returned as the same references, so that one comparison tells whether anything changed (R7).
// Recursion is as deep as the input, whose depth the caller has checked.
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { EMPTY, isEmpty, isEqual, own, put } from './json-object.ts'

export function merge(target: JsonObject, patch: JsonObject): JsonObject {
  let merged: Record<string, Json> | undefined
  for (const key of Object.keys(patch)) {
    const before = own(target, key)
    const after = mergeValue(before, own(patch, key))
    if (after === before) continue
    merged ??= { ...target }
    if (after === undefined) delete merged[key]
    else put(merged, key, after)
  }
  return merged ?? target
}

function mergeValue(before: Json | undefined, value: Json | undefined): Json | undefined {
  if (value === null) return undefined
  if (value === undefined) return before
  if (isObject(value)) return merge(isObject(before) ? before : EMPTY, value)
  return isEqual(before, value) ? before : value
}

/** Returns the smallest patch that turns `before` into `after`. Neither may hold a null outside of arrays. */
export function difference(before: JsonObject, after: JsonObject): JsonObject {
  const patch: Record<string, Json> = {}
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) put(patch, key, null)
  for (const key of Object.keys(after)) {
    const was = own(before, key)
    const is = own(after, key)
    if (was === is || is === undefined) continue
    if (isObject(was) && isObject(is)) {
      const inner = difference(was, is)
      if (!isEmpty(inner)) put(patch, key, inner)
    } else if (!isEqual(was, is)) put(patch, key, is)
  }
  return patch
}

/** Returns what `desired` has and `reported` lacks or has differently. Extra leaves in `reported` do not matter. */
export function computeDelta(desired: JsonObject, reported: JsonObject): JsonObject {
  const delta: Record<string, Json> = {}
  for (const key of Object.keys(desired)) {
    const missing = deltaValue(own(desired, key), own(reported, key))
    if (missing !== undefined) put(delta, key, missing)
  }
  return delta
}

export function deltaValue(wanted: Json | undefined, has: Json | undefined): Json | undefined {
  if (wanted === has) return undefined
  if (isObject(wanted) && isObject(has)) {
    const inner = computeDelta(wanted, has)
    return isEmpty(inner) ? undefined : inner
  }
  return isEqual(wanted, has) ? undefined : wanted
}
