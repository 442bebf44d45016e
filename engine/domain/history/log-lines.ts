// Reads log lines from a device's `log` topic: one entry or an array of them. A message is accepted or refused as a whole.
// [spec: contract 2.13]
//
// Entries of a message that state the same time get times one microsecond apart, so that they keep their order and stay
// distinct.

import { Buffer, isUtf8 } from 'node:buffer'
import { Micros } from '../../../schemas/ids.ts'
import { isObject, type JsonObject, parseJson } from '../../../schemas/json.ts'
import type { LogLevel } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import { isDeeper } from '../is-deeper.ts'
import { isFarOff, parseStatedTime } from '../telemetry/event-time.ts'
import { parseLevel, parseSeverityNumber } from './log-level.ts'

export interface LogLine {
  readonly at: Micros
  /** JSON text with `level`, `message` and, if present, `logger` and `fields`. */
  readonly body: string
}

const LOG_REFUSALS = [
  'not_utf8',
  'not_json',
  'not_object',
  'too_many_entries',
  'too_deep',
  'text_too_long',
  'bad_level',
  'bad_message',
  'bad_timestamp',
] as const
type LogRefusalReason = (typeof LOG_REFUSALS)[number]

interface LogRefusal {
  readonly kind: 'refused'
  readonly reason: LogRefusalReason
  readonly detail: string
}

export type LogLinesOutcome =
  | {
      readonly kind: 'entries'
      readonly entries: readonly LogLine[]
      /** True if a far-off time was replaced by the receive time. */
      readonly adjusted: boolean
    }
  | LogRefusal

export function readLogLines(payload: Uint8Array, receivedAt: Micros): LogLinesOutcome {
  if (!isUtf8(payload)) return refused('not_utf8', 'not valid UTF-8')
  const json = parseJson(Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString())
  if (json === undefined) return refused('not_json', 'not JSON')
  const list = Array.isArray(json) ? json : [json]
  if (list.length > LIMITS.logEntriesMax)
    return refused('too_many_entries', `more than ${LIMITS.logEntriesMax} entries`)
  const entries: LogLine[] = []
  const taken = new Set<number>()
  let adjusted = false
  for (const item of list) {
    if (!isObject(item)) return refused('not_object', 'a log is a JSON object or an array of objects')
    const time = timeOf(item, receivedAt)
    if (time === undefined)
      return refused('bad_timestamp', 'timestamp is neither ISO 8601 nor milliseconds since 1970')
    adjusted ||= time.adjusted
    const body = bodyOf(item)
    if (typeof body !== 'string') return body
    let { at } = time
    while (taken.has(at)) at++
    taken.add(at)
    entries.push({ at: Micros(at), body })
  }
  return { kind: 'entries', entries, adjusted }
}

function bodyOf(item: JsonObject): string | LogRefusal {
  const level = levelOf(item)
  if (level === undefined)
    return refused(
      'bad_level',
      'level must be debug, info, warn, error or fatal, or a number that stands for one of them',
    )
  // ROS uses the names `msg` and `name`.
  const { message = item['msg'], logger = item['name'] } = item
  if (typeof message !== 'string') return refused('bad_message', 'message must be text')
  if (logger !== undefined && logger !== null && typeof logger !== 'string')
    return refused('bad_message', 'logger must be text')
  if (Buffer.byteLength(message) > LIMITS.logMessageBytesMax)
    return tooLong('message', LIMITS.logMessageBytesMax)
  if (Buffer.byteLength(logger ?? '') > LIMITS.logLoggerBytesMax)
    return tooLong('logger', LIMITS.logLoggerBytesMax)
  const fields = fieldsOf(item)
  if (fields === undefined) return refused('not_object', 'fields must be an object')
  if (isDeeper(fields, LIMITS.logFieldsDepthMax))
    return refused('too_deep', `fields are nested deeper than ${LIMITS.logFieldsDepthMax} levels`)
  const hasFields = Object.keys(fields).length > 0
  if (hasFields && Buffer.byteLength(JSON.stringify(fields)) > LIMITS.logFieldsBytesMax)
    return tooLong('fields', LIMITS.logFieldsBytesMax)
  // The level comes first, because filtering by level looks for it in every row.
  return JSON.stringify({ level, message, ...(logger ? { logger } : {}), ...(hasFields ? { fields } : {}) })
}

function levelOf(item: JsonObject): LogLevel | undefined {
  const { level, severity_number: severity } = item
  if (level !== undefined && level !== null) return parseLevel(level)
  return severity === undefined ? 'info' : parseSeverityNumber(severity)
}

const OWN_NAMES: ReadonlySet<string> = new Set([
  'timestamp',
  'level',
  'severity_number',
  'message',
  'msg',
  'logger',
  'name',
  'fields',
])

/** Returns the fields, to which keys of the entry that have no meaning of their own are added. Undefined if `fields` is
 *  not an object. */
function fieldsOf(item: JsonObject): JsonObject | undefined {
  const given = item['fields'] ?? {}
  if (!isObject(given)) return undefined
  const others = Object.entries(item).filter(([name]) => !OWN_NAMES.has(name))
  return others.length === 0 ? given : { ...Object.fromEntries(others), ...given }
}

function timeOf(item: JsonObject, receivedAt: Micros): { at: number; adjusted: boolean } | undefined {
  const stated = item['timestamp'] ?? null
  if (stated === null) return { at: receivedAt, adjusted: false }
  const at = parseStatedTime(stated)
  if (!Number.isFinite(at)) return undefined
  const adjusted = isFarOff(at, receivedAt)
  return { at: adjusted ? receivedAt : at, adjusted }
}

function refused(reason: LogRefusalReason, detail: string): LogRefusal {
  return { kind: 'refused', reason, detail }
}

function tooLong(what: string, limit: number): LogRefusal {
  return refused('text_too_long', `${what} is longer than ${limit} bytes`)
}
