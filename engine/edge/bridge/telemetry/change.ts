import { isObject, type Json } from '../../../../schemas/json.ts'

/** Returns true if a value was added, removed or changed. A number with an entry in `minChange` must differ by at least
 *  that much. */
export function isChanged(
  before: Json | undefined,
  after: Json | undefined,
  minChange: ReadonlyMap<string, number>,
  path = '',
): boolean {
  if (before === after) return false
  if (typeof before === 'number' && typeof after === 'number')
    return Math.abs(after - before) >= (minChange.get(path) ?? 0)
  const [old, fresh] = [entriesOf(before), entriesOf(after)]
  if (old === undefined || fresh === undefined || old.size !== fresh.size) return true
  for (const [key, value] of fresh)
    if (!old.has(key) || isChanged(old.get(key), value, minChange, path === '' ? key : `${path}.${key}`))
      return true
  return false
}

function entriesOf(value: Json | undefined): ReadonlyMap<string, Json> | undefined {
  if (Array.isArray(value)) return new Map(value.map((each: Json, at) => [String(at), each]))
  return isObject(value) ? new Map(Object.entries(value)) : undefined
}
