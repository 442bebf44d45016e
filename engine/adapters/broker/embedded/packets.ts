// MQTT 3.1.1 as bytes: where a packet lies, and the short answers the guard writes itself. Pure.
import { Buffer, isUtf8 } from 'node:buffer'

export const PACKET = {
  connect: 1,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  unsubscribe: 10,
  pingreq: 12,
  disconnect: 14,
} as const

export const PINGRESP = Buffer.from([0xd0, 0x00])
/** An MQTT 5 client reads an MQTT 3.1.1 refusal as success with a broken tail; this one it understands. */
export const CONNACK_V5_UNSUPPORTED = Buffer.from([0x20, 0x03, 0x00, 0x84, 0x00])

export function connack(code: number, sessionPresent: boolean): Buffer {
  return Buffer.from([0x20, 0x02, sessionPresent ? 1 : 0, code])
}

/** PUBACK, PUBREC, PUBREL and PUBCOMP are four bytes. */
export function answer(type: number, packetId: number): Buffer {
  return Buffer.from([type << 4, 0x02, packetId >>> 8, packetId & 0xff])
}

/** Where a packet lies. The reader of a hot loop keeps one and has it filled again. */
export interface Span {
  first: number
  bodyStart: number
  /** 0 while the fixed header is incomplete. */
  end: number
}

export type Located = 'complete' | 'incomplete' | 'malformed'

/** Reads the fixed header at `at`. An incomplete packet's `end` tells how long it claims to be. */
export function locate(bytes: Uint8Array, at: number, span: Span): Located {
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

/** A topic name to publish to: no wildcard, no `..` level, within both bounds. */
export function isTopicName(
  topic: string,
  bounds: { readonly bytes: number; readonly levels: number },
): boolean {
  if (topic.length === 0 || WILDCARD_OR_NUL.test(topic) || Buffer.byteLength(topic) > bounds.bytes)
    return false
  const levels = topic.split('/')
  return levels.length <= bounds.levels && !levels.includes('..')
}

/** True if the body is a well-formed SUBSCRIBE (or UNSUBSCRIBE, without QoS bytes): checked before a parser
 *  that was not written for hostile bytes sees it. */
export function isSubscription(bytes: Buffer, span: Span, withQos: boolean): boolean {
  let at = span.bodyStart
  const { end } = span
  if ((span.first & 0x0f) !== 2 || end - at < 5 || readUint16(bytes, at) === 0) return false
  at += 2
  while (at < end) {
    if (at + 2 > end) return false
    const textEnd = at + 2 + readUint16(bytes, at)
    if (textEnd === at + 2 || textEnd > end || readText(bytes, at + 2, textEnd) === undefined) return false
    at = textEnd
    if (!withQos) continue
    if (at >= end || (bytes[at] ?? 3) > 2) return false
    at++
  }
  return true
}

export function readUint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
}
