// Finds packets in the bytes that devices send, and reads from them without a parser. Pure.
import { Buffer, isUtf8 } from 'node:buffer'
import { LIMITS } from '../../../limits.ts'
import type { Qos, SubscribeOptions } from '../filters.ts'

export const PACKET = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
  auth: 15,
} as const

/** A packet's place in the bytes. A hot loop keeps one object and has it refilled. */
export interface Span {
  first: number
  bodyStart: number
  /** 0 while the fixed header is incomplete. */
  end: number
}

export type LocateResult = 'complete' | 'incomplete' | 'malformed'

/** Reads the fixed header at `at`. For an incomplete packet, `end` is where it claims to end. */
export function locate(bytes: Uint8Array, at: number, span: Span): LocateResult {
  const size = bytes.length
  let length = 0
  let shift = 0
  let next = at + 1
  span.end = 0
  for (;;) {
    if (next >= size) return 'incomplete'
    const byte = bytes[next++] ?? 0
    length |= (byte & 0x7f) << shift
    if (byte < 0x80) break
    shift += 7
    if (shift > 21) return 'malformed'
  }
  span.first = bytes[at] ?? 0
  span.bodyStart = next
  span.end = next + length
  return span.end <= size ? 'complete' : 'incomplete'
}

/** The text of [start, end) if MQTT allows it as text: UTF-8 without NUL. */
export function readText(bytes: Buffer, start: number, end: number): string | undefined {
  const part = bytes.subarray(start, end)
  return part.includes(0) || !isUtf8(part) ? undefined : part.toString('utf8')
}

const WILDCARD_OR_NUL = /[+#\0]/

/** True for a topic that may be published to: no wildcard, no `..` level, within both bounds. */
export function isTopicName(
  topic: string,
  bounds: { readonly bytes: number; readonly levels: number },
): boolean {
  if (topic.length === 0 || WILDCARD_OR_NUL.test(topic) || Buffer.byteLength(topic) > bounds.bytes)
    return false
  const levels = topic.split('/')
  return levels.length <= bounds.levels && !levels.includes('..')
}

export interface FilterRequest {
  readonly filter: string
  /** 0 in an UNSUBSCRIBE. */
  readonly qos: Qos
  /** Present in MQTT 5 only, as is the next field. */
  readonly options?: SubscribeOptions
  /** When retained messages are sent at once: always (0), for a new subscription (1), or never (2). */
  readonly retainHandling?: number
}

/** Reads the filters of a SUBSCRIBE, or of an UNSUBSCRIBE, which asks for no QoS, from `start` on. Undefined if the
 *  packet is malformed, or has more of them than a session may have: reading thousands holds up everybody else. */
export function readFilters(
  bytes: Buffer,
  { bodyStart, end }: Span,
  {
    withQos,
    isV5 = false,
    start = bodyStart + 2,
  }: { readonly withQos: boolean; readonly isV5?: boolean; readonly start?: number },
): readonly FilterRequest[] | undefined {
  const requests: FilterRequest[] = []
  let at = start
  if (at >= end || readUint16(bytes, bodyStart) === 0) return undefined
  while (at < end) {
    const textStart = at + 2
    const textEnd = textStart + readUint16(bytes, at)
    at = withQos ? textEnd + 1 : textEnd
    if (textEnd === textStart || at > end) return undefined
    const filter = readText(bytes, textStart, textEnd)
    const asked = withQos ? (bytes[textEnd] ?? 3) : 0
    const qos = isV5 ? asked & 3 : asked
    if (filter === undefined || !isQos(qos) || requests.length >= LIMITS.subscriptionsPerSessionMax)
      return undefined
    if (!isV5 || !withQos) requests.push({ filter, qos })
    else {
      const retainHandling = (asked >>> 4) & 3
      if (asked > 0x3f || retainHandling === 3) return undefined
      const options = { noLocal: (asked & 4) !== 0, asPublished: (asked & 8) !== 0 }
      requests.push({ filter, qos, options, retainHandling })
    }
  }
  return requests
}

export function readUint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}

function isQos(value: number): value is Qos {
  return value === 0 || value === 1 || value === 2
}
