// Chooses, compares and merges nested telemetry by the dotted names of its fields.
import type { Json, JsonObject } from '../../schemas/json.ts'

/** Chosen metrics; the same choice is the same object, so that an event is encoded once for all who made it. */
export interface Selection {
  readonly names: readonly string[]
}

export class Selections {
  // Keyed by the names. An entry is removed with its last user.
  readonly #byKey = new Map<string, { readonly selection: Selection; users: number }>()

  open(names: readonly string[]): Selection {
    const sorted = [...new Set(names)].sort()
    const key = JSON.stringify(sorted)
    const known = this.#byKey.get(key) ?? { selection: { names: sorted }, users: 0 }
    known.users += 1
    this.#byKey.set(key, known)
    return known.selection
  }

  close(selection: Selection): void {
    const key = JSON.stringify(selection.names)
    const known = this.#byKey.get(key)
    if (known === undefined) return
    known.users -= 1
    if (known.users === 0) this.#byKey.delete(key)
  }
}

/** The part of `data` under the chosen names; undefined if there is none. The depth is bounded at the ingress. */
export function select(data: JsonObject, names: readonly string[], prefix = ''): JsonObject | undefined {
  let chosen: Record<string, Json> | undefined
  for (const [key, value] of Object.entries(data)) {
    const path = prefix + key
    const part = isChosen(path, names) ? value : selectBelow(value, names, `${path}.`)
    if (part === undefined) continue
    chosen ??= {}
    assign(chosen, key, part)
  }
  return chosen
}

/** Whether every field of `older` is in `newer` too, so that nothing is lost when only `newer` is kept. */
export function isCovered(older: JsonObject, newer: JsonObject): boolean {
  for (const key of Object.keys(older)) {
    if (!Object.hasOwn(newer, key)) return false
    const before = older[key]
    const after = newer[key]
    if (isObject(before) && (!isObject(after) || !isCovered(before, after))) return false
  }
  return true
}

/** Whether `whole` says everything `part` says, with the same values. */
export function isContained(part: JsonObject, whole: JsonObject): boolean {
  for (const key of Object.keys(part)) {
    if (!Object.hasOwn(whole, key)) return part[key] === null
    const mine = part[key]
    const theirs = whole[key]
    const same =
      isObject(mine) && isObject(theirs)
        ? isContained(mine, theirs)
        : mine === theirs || JSON.stringify(mine) === JSON.stringify(theirs)
    if (!same) return false
  }
  return true
}

/** Each field at its value in `newer`, or else in `older`. */
export function merge(older: JsonObject, newer: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...older }
  for (const [key, value] of Object.entries(newer)) {
    const before = Object.hasOwn(older, key) ? older[key] : undefined
    assign(merged, key, isObject(before) && isObject(value) ? merge(before, value) : value)
  }
  return merged
}

function isChosen(path: string, names: readonly string[]): boolean {
  return names.some((name) => path === name || path.startsWith(`${name}.`))
}

function selectBelow(value: Json, names: readonly string[], prefix: string): JsonObject | undefined {
  return isObject(value) && names.some((name) => name.startsWith(prefix))
    ? select(value, names, prefix)
    : undefined
}

/** A field named `__proto__` stays a field. */
function assign(target: Record<string, Json>, key: string, value: Json): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
