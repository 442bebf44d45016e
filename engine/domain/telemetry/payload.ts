// Parses a telemetry message into reports. Whatever can be refused is refused here, before anything changes. `shape.ts`
// is the shortcut for payloads like earlier ones, which need no parsing.
//
// A batch is an array of objects, each with its own time. At most one of them may lack a usable time. It gets the receive
// time; a second one could not get the next microsecond, which may belong to another message of the device. Reports of a
// batch with the same time are joined, so that a message has one point per metric and time.
import { Buffer, isUtf8 } from 'node:buffer'
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { isFarOff, parseStatedTime } from './event-time.ts'
import { Fields } from './fields.ts'
import { flatten } from './flatten.ts'
import { refused, type TelemetryRefusal } from './refusal.ts'

export interface About {
  readonly deviceId: DeviceId
  /** The `<name>` of the topic `telemetry/<name>`. */
  readonly name: string | undefined
  readonly receivedAt: Micros
  /** A whole number below 2^53 that is greater for later messages. */
  readonly version: number
}

export interface Report {
  readonly at: Micros
  readonly fields: Fields
}

export type ParsedPayload =
  | {
      readonly kind: 'reports'
      readonly reports: readonly Report[]
      readonly adjusted: boolean
      /** The top-level `diagnostics` of the newest report that has them. */
      readonly diagnostics: Json | undefined
    }
  | { readonly kind: 'ack'; readonly ack: JsonObject }
  | TelemetryRefusal

const TIMESTAMP = 'timestamp'
const REQUEST_ID = 'request_id'
const STATUS = 'status'
const DIAGNOSTICS = 'diagnostics'
const ACK_STATUSES: readonly unknown[] = [
  'completed',
  'failed',
  'acked',
  'accepted',
  'in_progress',
  'rejected',
]

export function parsePayload(payload: Uint8Array, about: About): ParsedPayload {
  const parsed = parseJson(payload)
  if (parsed.kind === 'refused') return parsed
  const { json, escapes } = parsed
  const { name, receivedAt } = about
  if (isObject(json)) return isAck(json) ? { kind: 'ack', ack: json } : gather([json], about, escapes)
  if (Array.isArray(json) && isBatch(json, name)) return gather(json, about, escapes)
  if (name === undefined) return refused('not_object', 'telemetry is a JSON object or an array of objects')
  const fields = new Fields()
  const refusal = flatten(json, { name, except: undefined, escapes }, fields)
  if (refusal !== undefined) return refusal
  const diagnostics = name === DIAGNOSTICS ? json : undefined
  return { kind: 'reports', reports: [{ at: receivedAt, fields }], adjusted: false, diagnostics }
}

interface ParsedJson {
  readonly kind: 'json'
  readonly json: Json
  /** True if the payload contains escapes, so that names and texts may contain what UTF-8 cannot encode. */
  readonly escapes: boolean
}

/** Refuses a payload that is not JSON in UTF-8, or is nested too deeply. */
function parseJson(payload: Uint8Array): ParsedJson | TelemetryRefusal {
  if (payload.length === 0) return refused('empty', 'an empty payload')
  const { depth, ascii, escapes } = scan(payload)
  if (depth > LIMITS.telemetryDepthMax + 1)
    return refused('too_deep', `nested deeper than ${LIMITS.telemetryDepthMax} levels`)
  if (!ascii && !isUtf8(payload)) return refused('not_utf8', 'not valid UTF-8')
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString(
    ascii ? 'latin1' : 'utf8',
  )
  try {
    const json: Json = JSON.parse(text)
    // Only the array around a batch may add one level.
    if (depth > LIMITS.telemetryDepthMax && !Array.isArray(json))
      return refused('too_deep', `nested deeper than ${LIMITS.telemetryDepthMax} levels`)
    return { kind: 'json', json, escapes }
  } catch (error) {
    return refused('not_json', error instanceof Error ? error.message : 'not JSON')
  }
}

/** Reads the bytes once to find how deeply brackets are nested outside of strings, and whether there are escapes or bytes
 *  beyond ASCII. */
function scan(payload: Uint8Array): { depth: number; ascii: boolean; escapes: boolean } {
  let depth = 0
  let deepest = 0
  let all = 0
  let escapes = false
  for (let at = 0; at < payload.length; at++) {
    const byte = payload[at] ?? 0
    all |= byte
    if (byte === 0x22) {
      for (at++; at < payload.length; at++) {
        const inner = payload[at] ?? 0
        all |= inner
        if (inner === 0x22) break
        if (inner === 0x5c) {
          escapes = true
          at++
        }
      }
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > deepest) deepest = depth
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return { depth: deepest, ascii: all < 0x80, escapes }
}

/** An array on `telemetry/<name>` may also be a plain value. It is a batch if it holds only objects with a timestamp. */
export function isBatch(json: readonly Json[], name: string | undefined): json is readonly JsonObject[] {
  if (name === undefined) return json.every(isObject)
  return json.length > 0 && json.every((element) => isObject(element) && Object.hasOwn(element, TIMESTAMP))
}

function isAck(json: JsonObject): boolean {
  return (
    Object.hasOwn(json, REQUEST_ID) &&
    typeof json[REQUEST_ID] === 'string' &&
    Object.hasOwn(json, STATUS) &&
    ACK_STATUSES.includes(json[STATUS])
  )
}

function gather(objects: readonly JsonObject[], about: About, escapes: boolean): ParsedPayload {
  if (objects.length > LIMITS.telemetryReportsMax)
    return refused('too_many_reports', `more than ${LIMITS.telemetryReportsMax} reports`)
  const reports = new Map<Micros, Fields>()
  let adjusted = false
  let onReceiveTime = 0
  let diagnostics: Json | undefined
  let diagnosedAt = Number.NEGATIVE_INFINITY
  for (const object of objects) {
    const time = timeOf(object, about.receivedAt)
    if (time.kind === 'refused') return time
    const { at } = time
    adjusted ||= time.adjusted
    if (time.received && ++onReceiveTime > 1)
      return refused('bad_timestamp', 'more than one report of a batch has no usable timestamp')
    const fields = new Fields()
    const refusal = flatten(object, { name: about.name, except: TIMESTAMP, escapes }, fields)
    if (refusal !== undefined) return refusal
    const twin = reports.get(at)
    if (twin === undefined) reports.set(at, fields)
    else twin.append(fields)
    const diagnosed = diagnosticsOf(object, about.name)
    if (diagnosed !== undefined && at >= diagnosedAt) {
      diagnostics = diagnosed
      diagnosedAt = at
    }
  }
  return {
    kind: 'reports',
    reports: Array.from(reports, ([at, fields]) => ({ at, fields })),
    adjusted,
    diagnostics,
  }
}

function diagnosticsOf(object: JsonObject, name: string | undefined): Json | undefined {
  if (name === DIAGNOSTICS) return object
  return name === undefined && Object.hasOwn(object, DIAGNOSTICS) ? object[DIAGNOSTICS] : undefined
}

interface EventTime {
  readonly kind: 'time'
  readonly at: Micros
  readonly received: boolean
  readonly adjusted: boolean
}

function timeOf(object: JsonObject, receivedAt: Micros): EventTime | TelemetryRefusal {
  const stated = Object.hasOwn(object, TIMESTAMP) ? object[TIMESTAMP] : null
  if (stated === null || stated === undefined)
    return { kind: 'time', at: receivedAt, received: true, adjusted: false }
  const at = parseStatedTime(stated)
  if (!Number.isFinite(at))
    return refused('bad_timestamp', 'timestamp is neither ISO 8601 nor milliseconds since 1970')
  const adjusted = isFarOff(at, receivedAt)
  return { kind: 'time', at: adjusted ? receivedAt : Micros(at), received: adjusted, adjusted }
}
