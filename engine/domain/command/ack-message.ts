// A device's answer to a command, published on `command/ack` or among its telemetry.
import { Buffer } from 'node:buffer'
import { Millis } from '../../../schemas/ids.ts'
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { parseJsonPayload } from '../json-payload.ts'
import { parseTime, TIME_CHARS_MAX } from '../telemetry/event-time.ts'
import type { CommandError, CommandResult } from './record.ts'

export interface Ack extends CommandResult {
  readonly requestId: string
  readonly cause: 'accept' | 'complete' | 'fail' | 'reject'
  readonly progress: number | undefined
}

export type AckMessage =
  | ({ readonly kind: 'ack' } & Ack)
  | { readonly kind: 'refused'; readonly reason: 'not_json' | 'not_an_ack'; readonly detail: string }

const CAUSES: Readonly<Record<string, Ack['cause']>> = {
  acked: 'accept',
  accepted: 'accept',
  in_progress: 'accept',
  completed: 'complete',
  failed: 'fail',
  rejected: 'reject',
}

const ID_CHARS_MAX = 128
const CODE_CHARS_MAX = 64
/** The end of the year 9999, the last that ISO 8601 writes with four digits. */
const TIME_MAX = 253_402_300_799_999

export function readAck(payload: Uint8Array): AckMessage {
  const json = parseJsonPayload(payload)
  if (json === undefined) return { kind: 'refused', reason: 'not_json', detail: 'not JSON in UTF-8' }
  if (!isObject(json)) return notAnAck('an answer is a JSON object')
  return toAck(json)
}

/** Command ids found anywhere in an answer, however malformed it is. */
export function commandIdsIn(payload: Uint8Array): ReadonlySet<string> {
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('latin1')
  return new Set(text.match(/cmd_[0-9a-z]+/g))
}

export function toAck(json: JsonObject): AckMessage {
  const { request_id: requestId, status, executed_at: executedAt, progress, error } = ownFields(json)
  if (typeof requestId !== 'string' || requestId === '' || requestId.length > ID_CHARS_MAX)
    return notAnAck(`request_id must be text of at most ${ID_CHARS_MAX} characters`)
  const cause = typeof status === 'string' && Object.hasOwn(CAUSES, status) ? CAUSES[status] : undefined
  if (cause === undefined) return notAnAck(`status must be one of ${Object.keys(CAUSES).join(', ')}`)
  return {
    kind: 'ack',
    requestId,
    cause,
    progress: toPercent(progress),
    executedAt: toTime(executedAt),
    ...boundedResult(json),
    error: cause === 'complete' ? undefined : toError(error),
  }
}

/** Copies the fields, so that none is inherited from a prototype. */
function ownFields(json: JsonObject): JsonObject {
  return Object.assign(Object.create(null), json)
}

/** Leaves out a result that is too large, or nested too deeply to be serialised again. The status counts all the same. */
function boundedResult(json: JsonObject): Pick<Ack, 'result' | 'resultBytesOmitted'> {
  const result = Object.hasOwn(json, 'result') ? json['result'] : undefined
  if (result === undefined) return { result, resultBytesOmitted: undefined }
  const bytes = isDeep(result) ? undefined : Buffer.byteLength(JSON.stringify(result))
  if (bytes !== undefined && bytes <= LIMITS.commandResultBytesMax)
    return { result, resultBytesOmitted: undefined }
  return { result: undefined, resultBytesOmitted: bytes ?? LIMITS.payloadBytesMax }
}

/** Walks level by level instead of recursively, because the sender decides the depth and the stack is limited. */
function isDeep(value: Json): boolean {
  let level: readonly Json[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LIMITS.bodyDepthMax) return true
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []))
  }
  return false
}

/** Percent from 0 to 100; undefined if the value is no number. */
export function toPercent(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? Math.min(100, Math.max(0, value)) : undefined
}

/** Accepts ISO 8601 or milliseconds since 1970, and ignores anything else. */
function toTime(value: Json | undefined): Millis | undefined {
  let at = Number.NaN
  if (typeof value === 'number') at = Math.round(value)
  else if (typeof value === 'string' && value.length <= TIME_CHARS_MAX) {
    const bytes = Buffer.from(value)
    at = Math.floor(parseTime(bytes, 0, bytes.length) / 1_000)
  }
  return at >= 0 && at <= TIME_MAX ? Millis(at) : undefined
}

function toError(value: Json | undefined): CommandError | undefined {
  if (typeof value === 'string')
    return { code: 'FAILED', message: value.slice(0, LIMITS.commandTextCharsMax) }
  if (!isObject(value)) return undefined
  const { code, message } = ownFields(value)
  return {
    code: (typeof code === 'string' || typeof code === 'number' ? String(code) : 'FAILED').slice(
      0,
      CODE_CHARS_MAX,
    ),
    message: (typeof message === 'string' ? message : '').slice(0, LIMITS.commandTextCharsMax),
  }
}

function notAnAck(detail: string): AckMessage {
  return { kind: 'refused', reason: 'not_an_ack', detail }
}
