// Selects, compares and merges nested telemetry by the dotted names of its fields.
import { isObject, type Json, type JsonObject } from '../../schemas/json.ts'

/** Selected metrics. Equal selections are the same object, so that an event is encoded once for all of them. */
export interface Selection {
  readonly names: ReadonlySet<string>
  /** All dotted prefixes of the names: fields there contain selected ones. */
  readonly prefixes: ReadonlySet<string>
}

interface SharedSelection {
  readonly selection: Selection
  readonly key: string
  users: number
}

export class Selections {
  // Keyed by the names. An entry is removed when its last user is gone.
  readonly #byKey = new Map<string, SharedSelection>()
  readonly #bySelection = new Map<Selection, SharedSelection>()
  /** The number of names that each user has selected. */
  readonly #counts = new Map<string, number>()
  readonly #namesMax: number

  constructor(namesMax: number) {
    this.#namesMax = namesMax
  }

  /** Returns undefined if the user has already selected too many names. */
  open(names: readonly string[], userId: string): Selection | undefined {
    const sorted = [...new Set(names)].sort()
    const count = (this.#counts.get(userId) ?? 0) + sorted.length
    if (count > this.#namesMax) return undefined
    this.#counts.set(userId, count)
    const key = JSON.stringify(sorted)
    const known = this.#byKey.get(key) ?? { selection: toSelection(sorted), key, users: 0 }
    known.users += 1
    this.#byKey.set(key, known)
    this.#bySelection.set(known.selection, known)
    return known.selection
  }

  close(selection: Selection, userId: string): void {
    const known = this.#bySelection.get(selection)
    if (known === undefined) return
    const count = (this.#counts.get(userId) ?? 0) - selection.names.size
    if (count > 0) this.#counts.set(userId, count)
    else this.#counts.delete(userId)
    known.users -= 1
    if (known.users > 0) return
    this.#byKey.delete(known.key)
    this.#bySelection.delete(selection)
  }
}

export function toSelection(names: readonly string[]): Selection {
  return { names: new Set(names), prefixes: new Set(names.flatMap(prefixesOf)) }
}

/** The prefixes of a path: `a` and `a.b` for `a.b.c`. */
function prefixesOf(path: string): readonly string[] {
  const places: string[] = []
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1))
    places.push(path.slice(0, dot))
  return places
}

/** The part of `data` under the selected names. Undefined if there is none. The depth is bounded at the ingress, and the
 *  time does not grow with the number of names. */
export function select(data: JsonObject, selection: Selection, prefix = ''): JsonObject | undefined {
  let chosen: Record<string, Json> | undefined
  for (const [key, value] of Object.entries(data)) {
    const path = prefix + key
    const part = isChosen(path, selection, prefix.length) ? value : selectBelow(value, selection, path)
    if (part === undefined) continue
    chosen ??= {}
    assign(chosen, key, part)
  }
  return chosen
}

/** Whether every field of `older` is also in `newer`, so that nothing is lost if only `newer` is kept. */
export function isCovered(older: JsonObject, newer: JsonObject): boolean {
  for (const key of Object.keys(older)) {
    if (!Object.hasOwn(newer, key)) return false
    const before = older[key]
    const after = newer[key]
    if (isObject(before) && (!isObject(after) || !isCovered(before, after))) return false
  }
  return true
}

/** Each field has its value in `newer`, or else in `older`. */
export function merge(older: JsonObject, newer: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...older }
  for (const [key, value] of Object.entries(newer)) {
    const before = Object.hasOwn(older, key) ? older[key] : undefined
    assign(merged, key, isObject(before) && isObject(value) ? merge(before, value) : value)
  }
  return merged
}

/** A name also selects everything below it. The prefixes before `from` are known not to be selected. */
function isChosen(path: string, { names }: Selection, from: number): boolean {
  if (names.has(path)) return true
  for (let dot = path.indexOf('.', from); dot !== -1; dot = path.indexOf('.', dot + 1))
    if (names.has(path.slice(0, dot))) return true
  return false
}

function selectBelow(value: Json, selection: Selection, path: string): JsonObject | undefined {
  return isObject(value) && selection.prefixes.has(path) ? select(value, selection, `${path}.`) : undefined
}

/** Stores a field named `__proto__` as an ordinary field. */
function assign(target: Record<string, Json>, key: string, value: Json): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}
