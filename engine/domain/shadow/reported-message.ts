// A device's message on `shadow/reported`: its fields, or an envelope with a version.
import { isObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { parseJsonPayload } from '../json-payload.ts'
import type { ShadowRefusal } from './write.ts'

export type ReportedMessage =
  | {
      readonly kind: 'reported'
      readonly patch: JsonObject
      /** The write only applies if the shadow has this version. */
      readonly expectedVersion: number | undefined
      /** Repeated in the answer. */
      readonly clientToken: string | undefined
    }
  /** An empty payload only clears the retained message. */
  | { readonly kind: 'cleared' }
  | ShadowRefusal

/** An object with `state` and no keys but these is an envelope. Other objects with a field called `state` are plain
 *  fields. */
const ENVELOPE: ReadonlySet<string> = new Set(['state', 'version', 'client_token', 'timestamp'])

export function readReported(payload: Uint8Array): ReportedMessage {
  if (payload.length === 0) return { kind: 'cleared' }
  const json = parseJsonPayload(payload)
  if (json === undefined) return refuse('BAD_REQUEST', 'not JSON in UTF-8')
  if (!isObject(json)) return refuse('VALIDATION_FAILED', 'a report is a JSON object')
  const state = Object.hasOwn(json, 'state') ? json['state'] : undefined
  const isEnveloped = isObject(state) && Object.keys(json).every((key) => ENVELOPE.has(key))
  if (!isEnveloped)
    return { kind: 'reported', patch: json, expectedVersion: undefined, clientToken: undefined }
  const { version = null, client_token: token = null } = json
  if (version !== null && !isVersion(version))
    return refuse('VALIDATION_FAILED', 'version must be a whole number', '/version')
  if (token !== null && !isToken(token))
    return refuse(
      'VALIDATION_FAILED',
      `client_token must be text of at most ${LIMITS.clientTokenCharsMax} characters`,
      '/client_token',
    )
  return {
    kind: 'reported',
    patch: state,
    expectedVersion: version ?? undefined,
    clientToken: token ?? undefined,
  }
}

/** The client token of a message on `shadow/get`, which may also be empty. Unreadable messages have no token. */
export function clientTokenOf(payload: Uint8Array): string | undefined {
  const json = parseJsonPayload(payload)
  if (!isObject(json) || !Object.hasOwn(json, 'client_token')) return undefined
  const token = json['client_token'] ?? null
  return isToken(token) ? token : undefined
}

function isVersion(value: Json): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isToken(value: Json): value is string {
  return typeof value === 'string' && value.length <= LIMITS.clientTokenCharsMax
}

function refuse(code: ShadowRefusal['code'], message: string, path?: string): ShadowRefusal {
  const errors = path === undefined ? {} : { errors: [{ path, code: 'WRONG_TYPE', message }] }
  return { kind: 'refused', code, detail: { message, ...errors } }
}
