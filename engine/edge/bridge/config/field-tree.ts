// The fields that a route selects, as a tree. The tree is built once, so that no path is split again for each message.
import { isObject, type Json, type JsonObject } from '../../../../schemas/json.ts'

export type FieldTree = ReadonlyMap<string, FieldTree | 'whole'>

/** Builds the tree. If a path selects a whole field, paths below it have no effect. */
export function toFieldTree(paths: readonly string[]): FieldTree {
  const tree: Branch = new Map()
  for (const path of paths) plant(tree, path.split('.'))
  return tree
}

/** Returns the selected fields. Each value keeps its path, so that a metric has the same name as without a
 *  selection. */
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
