// JSON Merge Patch (RFC 7396) on objects: null deletes, objects merge, everything else replaces.
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'

/** `clear` starts from an empty object, which is what a `null` patch for the whole object means. */
export function mergePatch(target: JsonObject, patch: JsonObject, clear = false): JsonObject {
  // A map of entries, so that a key called __proto__ stays an ordinary key.
  const merged = new Map<string, Json>(clear ? [] : Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else if (isObject(value)) {
      const before = merged.get(key)
      merged.set(key, mergePatch(isObject(before) ? before : {}, value))
    } else merged.set(key, value)
  }
  return Object.fromEntries(merged)
}
