// The time at which each leaf of a state last changed, as a tree of the state's own shape, so that unchanged parts are
// shared. Arrays and empty objects are leaves. The dotted names of the wire are computed only when needed.
import { Millis, toIso } from '../../../schemas/ids.ts'
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { EMPTY, isEmpty, own, put } from './json-object.ts'

export type LeafTime = Millis | LeafTimes
export interface LeafTimes {
  readonly [key: string]: LeafTime
}

export const NO_TIMES: LeafTimes = Object.freeze({})

export interface StateWrite {
  readonly before: JsonObject
  readonly after: JsonObject
  readonly times: LeafTimes
  readonly now: Millis
}

/** Parts that `after` shares with `before` keep their times. */
export function stampLeaves({ before, after, times, now }: StateWrite): LeafTimes {
  const stamped: Record<string, LeafTime> = {}
  for (const key of Object.keys(after))
    put(stamped, key, stamp({ was: own(before, key), is: own(after, key), time: own(times, key), now }))
  return stamped
}

function stamp({ was, is, time, now }: Leaf): LeafTime {
  if (was === is && time !== undefined) return time
  if (!isObject(is) || isEmpty(is)) return now
  const before = isObject(was) ? was : EMPTY
  return stampLeaves({ before, after: is, times: typeof time === 'object' ? time : NO_TIMES, now })
}

interface Leaf {
  readonly was: Json | undefined
  readonly is: Json | undefined
  readonly time: LeafTime | undefined
  readonly now: Millis
}

/** Returns `{ "a.b": { "timestamp": … } }` for the leaves of `state`, which is the stamped state or a part of it. Two
 *  leaves with the same dotted name share the later time. */
export function toMetadata(state: JsonObject, times: LeafTimes): JsonObject {
  const found = new Map<string, Millis>()
  collect(state, times, { prefix: '', found })
  return Object.fromEntries(Array.from(found, ([name, at]) => [name, { timestamp: toIso(at) }]))
}

function collect(
  state: JsonObject,
  times: LeafTimes,
  into: { readonly prefix: string; readonly found: Map<string, Millis> },
): void {
  for (const key of Object.keys(state)) {
    const name = into.prefix + key
    const value = own(state, key)
    const time = own(times, key)
    if (typeof time === 'object' && isObject(value))
      collect(value, time, { prefix: `${name}.`, found: into.found })
    else if (typeof time === 'number')
      into.found.set(name, Millis(Math.max(time, into.found.get(name) ?? time)))
  }
}
