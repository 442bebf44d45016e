// Converts messages of ROS to messages of Fleet.
import { isObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import { parsePayload } from '../../payload.ts'
import { pick } from '../config/field-tree.ts'
import type { UplinkRoute } from '../config/route.ts'
import { applyPreset } from './presets.ts'

export interface ConvertedMessage {
  /** The topic relative to that of the device. */
  readonly suffix: string
  readonly body: JsonObject
  /** The number of values that were left out because they look like binary data. */
  readonly byteArrays?: number
}

const DEPTH_MAX = 9
const BYTES_LIKELY = 64
const BASE64_LIKELY = 256

/** Converts a message. Returns undefined if nothing is left to send. `receivedMicros` is in microseconds since 1970. */
export function convert(
  route: UplinkRoute,
  message: JsonObject,
  receivedMicros: number,
): ConvertedMessage | undefined {
  switch (route.to.kind) {
    case 'telemetry':
      return toTelemetry(route, route.to.name, message, receivedMicros)
    case 'log':
      return toLog(message, receivedMicros)
    case 'reported': {
      const body = toReported(route, message)
      return body === undefined ? undefined : { suffix: 'shadow/reported', body }
    }
  }
}

function toTelemetry(
  route: UplinkRoute,
  name: string | undefined,
  message: JsonObject,
  receivedMicros: number,
): ConvertedMessage | undefined {
  const left = { byteArrays: 0 }
  const value = clean(select(route, message), left)
  if (value === undefined) return undefined
  const counted = left.byteArrays > 0 ? left : {}
  const measuredAt = route.timestamp === 'header' ? stampOf(message) : undefined
  const timestamp = measuredAt ?? isoOf(receivedMicros)
  // `{"speed":1}` on `telemetry` means the same as `1` on `telemetry/speed`, but only an object can have a timestamp.
  if (!isObject(value))
    return { suffix: 'telemetry', body: { [name ?? route.preset ?? route.name]: value, timestamp } }
  if (Object.keys(value).length === 0) return undefined
  if (name !== undefined) return { suffix: `telemetry/${name}`, body: { ...value, timestamp }, ...counted }
  const isWhole = route.preset === undefined
  const body = isWhole ? { ...value, timestamp } : { [route.preset ?? '']: value, timestamp }
  return { suffix: 'telemetry', body, ...counted }
}

/** Converts a rcl_interfaces/Log or a std_msgs/String. */
function toLog(message: JsonObject, receivedMicros: number): ConvertedMessage | undefined {
  const { msg, data, level, name } = message
  const text = typeof msg === 'string' ? msg : data
  if (typeof text !== 'string') return undefined
  const body = {
    level: level ?? 'info',
    message: text,
    ...(typeof name === 'string' && { logger: name }),
    timestamp: stampOf(message) ?? isoOf(receivedMicros),
  }
  return { suffix: 'log', body }
}

/** Converts a reported state. A std_msgs/String may contain it as JSON. */
function toReported(route: UplinkRoute, message: JsonObject): JsonObject | undefined {
  const { data } = message
  if (typeof data === 'string') return parsePayload(Buffer.from(data))
  const value = clean(select(route, message), { byteArrays: 0 })
  return value !== undefined && isObject(value) && Object.keys(value).length > 0 ? value : undefined
}

function select(route: UplinkRoute, message: JsonObject): Json {
  if (route.preset !== undefined) return applyPreset(route.preset, message)
  if (route.fields.size > 0) return pick(message, route.fields)
  const { header, ...rest } = message
  const keys = Object.keys(rest)
  const { data } = rest
  // Messages of std_msgs contain nothing but a value in `data`.
  if (keys.length === 1 && data !== undefined) return data
  return header === undefined || !isObject(header) ? message : rest
}

/** Removes null, which rosbridge sends for NaN and infinity, and values that look like binary data, which it counts.
 *  Lists of numbers keep their nulls, so that each number keeps its place. */
function clean(value: Json, left: { byteArrays: number }, depth = 0): Json | undefined {
  if (value === null || depth > DEPTH_MAX) return undefined
  if (isBytes(value)) {
    left.byteArrays++
    return undefined
  }
  if (Array.isArray(value)) return cleanList(value, left, depth)
  if (!isObject(value)) return value
  const kept: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    const inner = clean(value[key] ?? null, left, depth + 1)
    const isEmpty = inner !== undefined && isObject(inner) && Object.keys(inner).length === 0
    if (inner !== undefined && !isEmpty && key !== '') kept[key] = inner
  }
  return kept
}

function cleanList(
  list: readonly Json[],
  left: { byteArrays: number },
  depth: number,
): readonly Json[] | undefined {
  if (list.length > 0 && list.every((each) => each === null)) return undefined
  if (!list.some((each) => typeof each === 'object' && each !== null)) return list
  return list.map((each) => clean(each, left, depth + 1) ?? null)
}

/** Guesses whether a value is binary data. It arrives as Base64 or as a list of small numbers, and JSON does not tell
 *  the difference. */
function isBytes(value: Json): boolean {
  if (typeof value === 'string')
    return value.length >= BASE64_LIKELY && value.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(value)
  if (!Array.isArray(value) || value.length < BYTES_LIKELY) return false
  return value.every((each) => typeof each === 'number' && each >= 0 && each <= 255 && Number.isInteger(each))
}

/** Returns the time in the header of a message, to the microsecond. A time of zero means that the publisher did not set
 *  it. */
function stampOf({ header, stamp }: JsonObject): string | undefined {
  const found = header !== undefined && isObject(header) ? header['stamp'] : stamp
  if (found === undefined || !isObject(found)) return undefined
  const { sec, secs, nanosec, nsecs } = found
  const seconds = sec ?? secs
  const nanos = nanosec ?? nsecs ?? 0
  if (typeof seconds !== 'number' || typeof nanos !== 'number') return undefined
  if ((seconds === 0 && nanos === 0) || !(seconds >= 0 && seconds < SECONDS_MAX)) return undefined
  const micros = String(Math.floor(nanos / 1_000))
    .padStart(6, '0')
    .slice(0, 6)
  return `${new Date(Math.floor(seconds) * 1_000).toISOString().slice(0, 19)}.${micros}Z`
}

function isoOf(micros: number): string {
  const text = new Date(Math.floor(micros / 1_000)).toISOString()
  const rest = micros % 1_000
  return rest === 0 ? text : `${text.slice(0, -1)}${String(rest).padStart(3, '0')}Z`
}

/** The end of the year 9999. */
const SECONDS_MAX = 253_402_300_800
