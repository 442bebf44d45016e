// Edits of a desired state, and what becomes of them when another version came first. An edit is taken over by itself only
// where nobody else changed what it is about.
import { isObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { isSame, leavesOf, overlaps, type Path, pathKey, valueAt } from './leaves.ts'

export type Edit =
  | { readonly kind: 'set'; readonly path: Path; readonly value: Json }
  | { readonly kind: 'remove'; readonly path: Path }

/** The edit that gives a path a value: `null` removes it, as in a merge patch. */
export const editTo = (path: Path, value: Json): Edit =>
  value === null ? { kind: 'remove', path } : { kind: 'set', path, value }

/** The value that an edit gives its path; undefined removes it. */
export const valueAfter = (edit: Edit): Json | undefined => (edit.kind === 'set' ? edit.value : undefined)

/** A newer edit of a path replaces older ones at it and below it. */
export function withEdit(edits: readonly Edit[], edit: Edit): readonly Edit[] {
  return [...edits.filter(({ path }) => !overlaps(path, edit.path)), edit]
}

export const withoutEdit = (edits: readonly Edit[], path: Path): readonly Edit[] =>
  edits.filter((edit) => pathKey(edit.path) !== pathKey(path))

/** The edits as a JSON merge patch (RFC 7396). */
export function patchOf(edits: readonly Edit[]): JsonObject {
  const patch: Record<string, unknown> = {}
  for (const edit of edits) {
    let at = patch
    for (const key of edit.path.slice(0, -1)) {
      const below = Object.hasOwn(at, key) ? at[key] : undefined
      const next = typeof below === 'object' && below !== null ? (below as Record<string, unknown>) : {}
      define(at, key, next)
      at = next
    }
    define(at, edit.path.at(-1) ?? '', valueAfter(edit) ?? null)
  }
  // It was built of JSON alone.
  return patch as JsonObject
}

/** A key may be called `__proto__`: it is a key like any other. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

/** What a patch does, leaf by leaf: the way back from a patch of the history to edits. */
export function editsOf(patch: JsonObject, path: Path = []): readonly Edit[] {
  return Object.entries(patch).flatMap(([key, value]): readonly Edit[] => {
    const here = [...path, key]
    if (value === null) return [{ kind: 'remove', path: here }]
    return isObject(value) && Object.keys(value).length > 0
      ? editsOf(value, here)
      : [{ kind: 'set', path: here, value }]
  })
}

/** Edits that turn one document into another. */
export function difference(from: JsonObject, to: JsonObject): readonly Edit[] {
  const edits: Edit[] = []
  for (const { path, value } of leavesOf(to))
    if (!isSame(valueAt(from, path), value)) edits.push({ kind: 'set', path, value })
  const removed = new Map<string, Path>()
  for (const { path } of leavesOf(from)) {
    // Above the leaf, because an object that lost its last leaf would stay as an empty one.
    const length = path.findIndex((_, index) => valueAt(to, path.slice(0, index + 1)) === undefined) + 1
    if (length > 0) removed.set(pathKey(path.slice(0, length)), path.slice(0, length))
  }
  const isReplaced = (path: Path) => edits.some((edit) => overlaps(edit.path, path))
  return [
    ...edits,
    ...[...removed.values()]
      .filter((path) => !isReplaced(path))
      .map((path) => ({ kind: 'remove', path }) as const),
  ]
}

export interface Conflict {
  readonly edit: Edit
  readonly base: Json | undefined
  readonly theirs: Json | undefined
  readonly yours: Json | undefined
}

export interface Merge {
  /** Edits that nobody else's change touches. */
  readonly untouched: readonly Edit[]
  /** Edits whose wish the other version fulfils already. */
  readonly fulfilled: readonly Edit[]
  /** Edits that need a choice. */
  readonly conflicts: readonly Conflict[]
  /** Leaves that changed and are none of the edits' business. */
  readonly others: readonly Edit[]
}

/** `base` is the document that the edits were made on, `theirs` the one that is there now. */
export function threeWay(base: JsonObject, theirs: JsonObject, edits: readonly Edit[]): Merge {
  const changed = difference(base, theirs)
  const touches = (edit: Edit) => changed.some(({ path }) => overlaps(path, edit.path))
  const fulfilled = edits.filter((edit) => isSame(valueAt(theirs, edit.path), valueAfter(edit)))
  const open = edits.filter((edit) => !fulfilled.includes(edit))
  return {
    fulfilled,
    untouched: open.filter((edit) => !touches(edit)),
    conflicts: open.filter(touches).map((edit) => ({
      edit,
      base: valueAt(base, edit.path),
      theirs: valueAt(theirs, edit.path),
      yours: valueAfter(edit),
    })),
    others: changed.filter(({ path }) => !edits.some((edit) => overlaps(edit.path, path))),
  }
}

/** The edits after every conflict was decided: theirs drops the edit, yours keeps it. */
export function resolved(
  merge: Merge,
  choices: ReadonlyMap<string, 'theirs' | 'yours'>,
): readonly Edit[] | undefined {
  const isDecided = merge.conflicts.every(({ edit }) => choices.has(pathKey(edit.path)))
  if (!isDecided) return undefined
  const kept = merge.conflicts.filter(({ edit }) => choices.get(pathKey(edit.path)) === 'yours')
  return [...merge.untouched, ...kept.map(({ edit }) => edit)]
}

/** The document with a patch applied (RFC 7396). */
export function applied(document: JsonObject, patch: JsonObject): JsonObject {
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(document)) define(result, key, value)
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else {
      const before = Object.hasOwn(document, key) ? document[key] : undefined
      define(result, key, isObject(value) ? applied(isObject(before) ? before : {}, value) : value)
    }
  }
  // Both were JSON.
  return result as JsonObject
}
