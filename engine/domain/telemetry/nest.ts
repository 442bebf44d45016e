// Turns fields back into the nested object they came from.
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { type Age, isNewer, type LatestField } from './age.ts'
import { type FieldValue, JsonText, PATH_SEPARATOR } from './fields.ts'

interface Node {
  leaf: LatestField | undefined
  readonly children: Map<string, Node>
}

/** If a device reported both `a` and `a.x`, the newer one wins: a later `{"a":null}` hides all of `a`, and
 *  `{"a":{"x":1}}` after that shows it again. */
export function nest(fields: Iterable<LatestField>): JsonObject {
  const root = newNode()
  for (const field of fields) {
    let node = root
    for (const key of field.path.split(PATH_SEPARATOR)) {
      let child = node.children.get(key)
      if (child === undefined) {
        child = newNode()
        node.children.set(key, child)
      }
      node = child
    }
    node.leaf = field
  }
  return toObject(root, undefined)
}

function newNode(): Node {
  return { leaf: undefined, children: new Map() }
}

// The recursion is bounded, because paths have a limited depth.
function toObject(node: Node, above: Age | undefined): JsonObject {
  const object: Record<string, Json> = {}
  for (const [key, child] of node.children) {
    const value = toJson(child, above)
    if (value !== undefined) put(object, key, value)
  }
  return object
}

function toJson(node: Node, above: Age | undefined): Json | undefined {
  const { leaf } = node
  const leafStands = leaf !== undefined && (above === undefined || isNewer(leaf, above))
  if (node.children.size > 0) {
    const object = toObject(node, leafStands ? leaf : above)
    for (const _ in object) return object
  }
  return leafStands ? plain(leaf.value) : undefined
}

/** Returns the value as JSON, or undefined if the field was cleared. */
export function plain(value: FieldValue): Json | undefined {
  if (value === null) return undefined
  return value instanceof JsonText ? JSON.parse(value.text) : value
}

/** Sets an own property. A plain assignment to `__proto__` would change the prototype instead. */
function put(object: Record<string, Json>, key: string, value: Json): void {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
  else object[key] = value
}
