// Parses EMQX's events about devices' connections, as the rules of deploy/emqx/emqx.conf send them. Pure.
import { Micros, Millis } from '../../../../schemas/ids.ts'
import type { EndCause } from '../../../ports/broker.ts'
import type { ConnectToken } from './mqtt-session.ts'

export type EmqxEvent =
  | {
      readonly kind: 'connected'
      readonly at: Micros
      readonly ip: string
      /** Address and port. */
      readonly peer: string
      /** The session may have earlier subscriptions, which no event reports. */
      readonly isResumed: boolean
      /** False if EMQX let the client in while authentication was unavailable. */
      readonly isVerified: boolean
      /** Undefined if the device showed a certificate. EMQX does not know which tokens were revoked. */
      readonly token: ConnectToken | undefined
    }
  /** `cause` is undefined if the device has already connected again. */
  | { readonly kind: 'disconnected'; readonly at: Micros; readonly cause: EndCause | undefined }
  | { readonly kind: 'subscribed'; readonly at: Micros; readonly topic: string; readonly qos: 0 | 1 | 2 }
  | {
      readonly kind: 'delivered'
      readonly at: Micros
      readonly peer: string
      readonly topic: string
      readonly requestId: string
    }
  /** EMQX denied the device this topic. The event does not contain the message. */
  | {
      readonly kind: 'refused'
      readonly at: Micros
      readonly topic: string
      readonly wanted: 'publish' | 'subscribe'
    }
  /** EMQX did not let in a client with the device's id. Nothing shows that it was the device. */
  | { readonly kind: 'rejected'; readonly at: Micros; readonly ip: string; readonly reason: string }

/** The names of MQTT's reason codes are shorter. */
const REASON_CHARS_MAX = 64

export function parseEvent(suffix: string, payload: Uint8Array): EmqxEvent | undefined {
  const fields = parseFields(payload)
  if (fields === undefined) return undefined
  const { topic, qos, reason, request_id: requestId, peername = '', clean_start: cleanStart } = fields
  const at = timeOf(fields['connected_at'] ?? fields['disconnected_at'] ?? fields['timestamp'])
  if (at === undefined) return undefined
  switch (suffix) {
    case '$connected':
      return {
        kind: 'connected',
        at,
        ip: ipOf(peername),
        peer: String(peername),
        isResumed: cleanStart === false,
        isVerified: fields['verified'] !== 0,
        token: tokenOf(fields),
      }
    case '$disconnected':
      return { kind: 'disconnected', at, cause: causeOf(String(reason)) }
    case '$subscribed':
      if (typeof topic !== 'string' || (qos !== 0 && qos !== 1 && qos !== 2)) return undefined
      return { kind: 'subscribed', at, topic, qos }
    case '$delivered':
      // EMQX writes this text for a missing value.
      if (typeof topic !== 'string' || typeof requestId !== 'string' || requestId === 'undefined')
        return undefined
      return { kind: 'delivered', at, peer: String(peername), topic, requestId }
    case '$refused': {
      const { action: wanted } = fields
      if (typeof topic !== 'string' || (wanted !== 'publish' && wanted !== 'subscribe')) return undefined
      return { kind: 'refused', at, topic, wanted }
    }
    case '$rejected':
      return { kind: 'rejected', at, ip: ipOf(peername), reason: reasonOf(String(fields['reason_code'])) }
    default:
      return undefined
  }
}

function ipOf(peername: unknown): string {
  return String(peername).replace(/:\d+$/, '')
}

/** EMQX does not say what is wrong with a token. */
function reasonOf(code: string): string {
  if (code === 'not_authorized' || code === 'bad_username_or_password') return 'device token invalid'
  if (code === 'banned') return 'banned, after a decommission or too many connects within a minute'
  return `EMQX answered ${code.slice(0, REASON_CHARS_MAX)}`
}

const CAUSES: Readonly<Record<string, EndCause | undefined>> = {
  normal: 'disconnect',
  keepalive_timeout: 'keepalive',
  kicked: 'revoked',
  // EMQX ends a session for this reason when its token has expired, and for no other.
  not_authorized: 'expired',
  takenover: undefined,
  discarded: undefined,
}

function causeOf(reason: string): EndCause | undefined {
  return Object.hasOwn(CAUSES, reason) ? CAUSES[reason] : 'lost'
}

function tokenOf(fields: Readonly<Record<string, unknown>>): ConnectToken | undefined {
  const [issuedAt, lifetimeSec] = [numberOf(fields['issued']), numberOf(fields['lasts'])]
  return issuedAt === undefined || lifetimeSec === undefined
    ? undefined
    : { issuedAt: Millis(issuedAt), lifetimeSec }
}

/** EMQX sends attributes as text. A missing one is the text `undefined`. */
function numberOf(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined
}

/** EMQX sends milliseconds. */
function timeOf(value: unknown): Micros | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? Micros(value * 1_000) : undefined
}

function parseFields(payload: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(
      Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString(),
    )
    // The fields are not validated yet.
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : undefined
  } catch {
    // The event was not written by our rules.
    return undefined
  }
}
