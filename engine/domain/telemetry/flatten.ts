// Turns nested JSON into leaves with dotted names. It iterates instead of recursing, because the input decides the depth.
import { Buffer } from 'node:buffer'
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { type Fields, isLongerThan, JsonText, PATH_SEPARATOR } from './fields.ts'
import { refused, type TelemetryRefusal } from './refusal.ts'

export interface FlattenOptions {
  /** The `<name>` of the topic `telemetry/<name>`, which prefixes every metric. */
  readonly name: string | undefined
  /** A top-level key that is not a field, such as `timestamp`. */
  readonly except: string | undefined
  /** True if the payload contains escapes, so that names and texts may contain what UTF-8 cannot encode. */
  readonly escapes: boolean
}

interface Place {
  readonly path: string
  readonly metric: string
}

interface Level extends Place {
  readonly object: JsonObject
  readonly keys: readonly string[]
  next: number
}

const ODD_NAME = /[\0\p{Surrogate}]/u
const HALF_PAIR = /\p{Surrogate}/u

/** Adds the leaves of `value` to `fields`. If it returns a refusal, `fields` must be discarded. */
export function flatten(value: Json, options: FlattenOptions, fields: Fields): TelemetryRefusal | undefined {
  const { name, except, escapes } = options
  const prefix = name ?? ''
  if (!isObject(value)) {
    const leaf = escapes ? wellFormed(value) : value
    return addLeaf(leaf, { path: prefix, metric: prefix }, fields)
  }
  const levels: Level[] = [{ path: prefix, metric: prefix, object: value, keys: Object.keys(value), next: 0 }]
  for (let level = levels[0]; level !== undefined; level = levels[levels.length - 1]) {
    const key = level.keys[level.next++]
    if (key === undefined) {
      levels.pop()
      continue
    }
    const isTop = levels.length === 1
    if (isTop && key === except) continue
    if (escapes && ODD_NAME.test(key))
      return refused('bad_name', 'a name with \\u0000 or half a surrogate pair')
    if (key.includes('.')) fields.mayCollide = true
    const bare = isTop && name === undefined
    const path = bare ? key : level.path + PATH_SEPARATOR + key
    const metric = bare ? key : `${level.metric}.${key}`
    // The key comes from `Object.keys`, so the value is there.
    const child = level.object[key] as Json
    if (isObject(child)) {
      levels.push({ path, metric, object: child, keys: Object.keys(child), next: 0 })
      continue
    }
    const refusal = addLeaf(escapes ? wellFormed(child) : child, { path, metric }, fields)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function addLeaf(value: Json, { path, metric }: Place, fields: Fields): TelemetryRefusal | undefined {
  if (fields.length >= LIMITS.telemetryFieldsMax)
    return refused('too_many_fields', `more than ${LIMITS.telemetryFieldsMax} fields`)
  if (metric === '') return refused('bad_name', 'an empty name')
  if (isLongerThan(metric, LIMITS.metricNameBytesMax))
    return refused('bad_name', `${metric.slice(0, 32)}… is longer than ${LIMITS.metricNameBytesMax} bytes`)
  if (typeof value === 'number' && !Number.isFinite(value))
    return refused('bad_number', `${metric} is not finite`)
  if (typeof value !== 'object' || value === null) {
    fields.add(path, metric, value)
    return undefined
  }
  if (!isFiniteThroughout(value)) return refused('bad_number', `${metric} holds a number that is not finite`)
  fields.add(path, metric, new JsonText(JSON.stringify(value)))
  return undefined
}

/** Replaces half surrogate pairs as encoding in UTF-8 would, so that the snapshot and the stored row agree. */
function wellFormed(value: Json): Json {
  return typeof value === 'string' && HALF_PAIR.test(value) ? Buffer.from(value).toString() : value
}

/** `1e400` parses to Infinity, which JSON would write as null. */
function isFiniteThroughout(value: Json): boolean {
  const open: Json[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'number' && !Number.isFinite(next)) return false
    if (typeof next === 'object' && next !== null) for (const child of Object.values(next)) open.push(child)
  }
  return true
}
