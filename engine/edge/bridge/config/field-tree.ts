// The fields that a route chooses, as a tree that is made once: a message is walked by it, and no path is cut at its dots again.
import { isObject, type Json, type JsonObject } from '../../../../schemas/json.ts'

export type FieldTree = ReadonlyMap<string, FieldTree | 'whole'>

/** A field whose whole is wanted is not cut. */
export function toFieldTree(paths: readonly string[]): FieldTree {
  const tree: Branch = new Map()
  for (const path of paths) plant(tree, path.split('.'))
  return tree
}

/** Each value keeps its path, so that a metric is called as it is without a choice of fields. */
export function pick(value: Json, tree: FieldTree): JsonObject {
  const picked: Record<string, Json> = {}
  for (const [key, inner] of tree) {
    const child = childOf(value, key)
    if (child === undefined) continue
    if (inner === 'whole') picked[key] = child
    else {
      const part = pick(child, inner)
      if (Object.keys(part).length > 0) picked[key] = part
    }
  }
  return picked
}

type Branch = Map<string, Branch | 'whole'>

function plant(tree: Branch, [key = '', ...rest]: readonly string[]): void {
  const inner = tree.get(key)
  if (rest.length === 0) tree.set(key, 'whole')
  else if (inner === undefined) {
    const branch: Branch = new Map()
    tree.set(key, branch)
    plant(branch, rest)
  } else if (inner !== 'whole') plant(inner, rest)
}

function childOf(value: Json, key: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(key)]
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}
