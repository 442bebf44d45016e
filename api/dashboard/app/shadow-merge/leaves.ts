// A shadow as its leaves. A leaf is a value under a path of keys; a list is a leaf as a whole, and so is an empty object.
// Pure: no clock, no page.
import { isObject, type Json, type JsonObject } from '../../../../schemas/json.ts'

export type Path = readonly string[]

export interface Leaf {
  readonly path: Path
  readonly value: Json
}

/** Paths as keys of maps; keys may have dots of their own. */
export const pathKey = (path: Path): string => JSON.stringify(path)

export function leavesOf(document: JsonObject, path: Path = []): readonly Leaf[] {
  return Object.entries(document).flatMap(([key, value]) => {
    const here = [...path, key]
    return isBranch(value) ? leavesOf(value, here) : [{ path: here, value }]
  })
}

/** The value at a path; undefined if there is none. */
export function valueAt(document: JsonObject, path: Path): Json | undefined {
  let found: Json | undefined = document
  for (const key of path) {
    if (!isObject(found) || !Object.hasOwn(found, key)) return undefined
    found = found[key]
  }
  return found
}

/** Equal as JSON: the order of keys does not count. */
export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((value, index) => isSame(value, b[index]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  )
}

/** Whether one of them is the other, or lies below it. */
export const overlaps = (a: Path, b: Path): boolean =>
  a.slice(0, Math.min(a.length, b.length)).every((key, index) => key === b[index])

const isBranch = (value: Json): value is JsonObject => isObject(value) && Object.keys(value).length > 0
