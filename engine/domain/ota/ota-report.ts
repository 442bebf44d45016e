// What a device reports about an update, on `ota/status` or in an acknowledgement.
import { Buffer } from 'node:buffer'
import { Millis } from '../../../schemas/ids.ts'
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { type Ack, toPercent } from '../command/ack-message.ts'
import { parseJsonPayload } from '../json-payload.ts'
import { parseTime, TIME_CHARS_MAX } from '../telemetry/event-time.ts'
import type { JobError } from './job.ts'

const OTA_WORDS = [
  'accepted',
  'downloading',
  'verifying',
  'downloaded',
  'installing',
  'rebooting',
  'confirming',
  'succeeded',
  'already_installed',
  'failed',
  'rejected',
  'deferred',
  'cancelled',
  'rolled_back',
  'refresh',
] as const
export type OtaWord = (typeof OTA_WORDS)[number]

/** Other spellings of the same words. */
const ALIASES: Readonly<Record<string, OtaWord>> = {
  updating: 'installing',
  verified: 'downloaded',
  updated: 'succeeded',
  success: 'succeeded',
}

export interface OtaReport {
  readonly deploymentId: string
  /** Undefined means the current attempt. */
  readonly attempt: number | undefined
  readonly word: OtaWord
  readonly progress: number | undefined
  readonly version: string | undefined
  readonly error: JobError | undefined
  /** When a deferral ends. */
  readonly until: Millis | undefined
}

export type OtaMessage =
  | { readonly kind: 'report'; readonly report: OtaReport }
  /** An unknown word, or no id. */
  | { readonly kind: 'ignored' }
  | { readonly kind: 'malformed'; readonly detail: string }

const ID_CHARS_MAX = 128
const VERSION_CHARS_MAX = 128
const CODE_CHARS_MAX = 64

export function readOtaStatus(payload: Uint8Array, now: Millis): OtaMessage {
  const json = parseJsonPayload(payload)
  if (!isObject(json)) return { kind: 'malformed', detail: 'a status of an update is a JSON object in UTF-8' }
  const fields: JsonObject = Object.assign(Object.create(null), json)
  const { deployment_id: id, request_id: alias, status, attempt, version } = fields
  const deploymentId = typeof id === 'string' ? id : alias
  const word = wordOf(status)
  if (typeof deploymentId !== 'string' || deploymentId.length > ID_CHARS_MAX || word === undefined)
    return { kind: 'ignored' }
  return {
    kind: 'report',
    report: {
      deploymentId,
      attempt: typeof attempt === 'number' ? attempt : undefined,
      word,
      progress: toPercent(fields['progress']),
      version: typeof version === 'string' ? version.trim().slice(0, VERSION_CHARS_MAX) : undefined,
      error: toError(fields['error']),
      until: word === 'deferred' ? endOfDeferral(fields, now) : undefined,
    },
  }
}

/** An acknowledgement whose `request_id` is that of a deployment. It never moves a job back. */
export function reportOfAck({ requestId, cause, progress, error }: Ack): OtaReport {
  const words = { accept: 'accepted', complete: 'succeeded', fail: 'failed', reject: 'rejected' } as const
  const about = { attempt: undefined, version: undefined, until: undefined }
  return { ...about, deploymentId: requestId, word: words[cause], progress, error }
}

function wordOf(status: Json | undefined): OtaWord | undefined {
  if (typeof status !== 'string') return undefined
  const lower = status.toLowerCase()
  return Object.hasOwn(ALIASES, lower) ? ALIASES[lower] : OTA_WORDS.find((word) => word === lower)
}

/** A deferral without an end, or with one too far away, ends at the latest time allowed. */
function endOfDeferral(fields: JsonObject, now: Millis): Millis {
  const { until, retry_after_sec: afterSec } = fields
  const latest = now + LIMITS.otaDeferMsMax
  if (typeof afterSec === 'number' && afterSec >= 0) return Millis(Math.min(latest, now + afterSec * 1_000))
  const at = toTime(until)
  return Millis(Math.min(latest, Math.max(now, at ?? latest)))
}

function toTime(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? Math.round(value) : undefined
  if (typeof value !== 'string' || value.length > TIME_CHARS_MAX) return undefined
  const bytes = Buffer.from(value)
  const at = parseTime(bytes, 0, bytes.length)
  return Number.isFinite(at) ? Math.floor(at / 1_000) : undefined
}

function toError(value: Json | undefined): JobError | undefined {
  if (typeof value === 'string') return { code: 'FAILED', message: value.slice(0, LIMITS.otaErrorCharsMax) }
  if (!isObject(value)) return undefined
  const { code, message }: JsonObject = Object.assign(Object.create(null), value)
  return {
    code: (typeof code === 'string' || typeof code === 'number' ? String(code) : 'FAILED').slice(
      0,
      CODE_CHARS_MAX,
    ),
    message: typeof message === 'string' ? message.slice(0, LIMITS.otaErrorCharsMax) : '',
  }
}
