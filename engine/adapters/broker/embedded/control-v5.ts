// Packets of MQTT 5 that a device sends besides messages. Pure.
import type { Buffer } from 'node:buffer'
import { type FilterRequest, PACKET, readFilters, readUint16, type Span } from './packets.ts'
import { ALLOWED, PROPERTY, readProperties } from './properties.ts'
import { type ExplainedReason, explain, REASON } from './reasons.ts'

export type ControlV5 =
  | { readonly kind: 'ping' }
  | { readonly kind: 'disconnect'; readonly isWithWill: boolean; readonly expirySec: number | undefined }
  /** PUBACK, PUBREC or PUBCOMP. */
  | { readonly kind: 'answer'; readonly type: number; readonly id: number; readonly reason: number }
  | { readonly kind: 'release'; readonly id: number }
  | { readonly kind: 'subscribe'; readonly id: number; readonly requests: readonly FilterRequest[] }
  | { readonly kind: 'unsubscribe'; readonly id: number; readonly requests: readonly FilterRequest[] }
  | { readonly kind: 'wrong'; readonly explained: ExplainedReason }

/** First bytes: MQTT reserves the flags, and a packet with wrong ones is no packet. */
const FIRST = {
  pingreq: PACKET.pingreq << 4,
  disconnect: PACKET.disconnect << 4,
  puback: PACKET.puback << 4,
  pubrec: PACKET.pubrec << 4,
  pubcomp: PACKET.pubcomp << 4,
  pubrel: (PACKET.pubrel << 4) | 2,
  subscribe: (PACKET.subscribe << 4) | 2,
  unsubscribe: (PACKET.unsubscribe << 4) | 2,
} as const

const MALFORMED: ControlV5 = { kind: 'wrong', explained: explain(REASON.malformed) }
const UNEXPECTED: ControlV5 = { kind: 'wrong', explained: explain(REASON.protocolError) }

export function readControlV5(bytes: Buffer, span: Span): ControlV5 {
  switch (span.first) {
    case FIRST.pingreq:
      return span.end === span.bodyStart ? { kind: 'ping' } : MALFORMED
    case FIRST.disconnect:
      return readDisconnect(bytes, span)
    case FIRST.puback:
    case FIRST.pubrec:
    case FIRST.pubcomp:
    case FIRST.pubrel:
      return readAnswer(bytes, span)
    case FIRST.subscribe:
      return readSubscription(bytes, span, 'subscribe')
    case FIRST.unsubscribe:
      return readSubscription(bytes, span, 'unsubscribe')
    default:
      return UNEXPECTED
  }
}

function readDisconnect(bytes: Buffer, { bodyStart, end }: Span): ControlV5 {
  const reason = end > bodyStart ? (bytes[bodyStart] ?? 0) : REASON.success
  const isWithWill = reason !== REASON.success
  if (end <= bodyStart + 1) return { kind: 'disconnect', isWithWill, expirySec: undefined }
  const read = readProperties(bytes, { at: bodyStart + 1, limit: end, allowed: ALLOWED.disconnect })
  if (typeof read === 'number') return { kind: 'wrong', explained: explain(read) }
  if (read.end !== end) return MALFORMED
  return { kind: 'disconnect', isWithWill, expirySec: read.values.get(PROPERTY.sessionExpiry) }
}

function readAnswer(bytes: Buffer, { first, bodyStart, end }: Span): ControlV5 {
  const id = end >= bodyStart + 2 ? readUint16(bytes, bodyStart) : 0
  if (id === 0) return MALFORMED
  const reason = end > bodyStart + 2 ? (bytes[bodyStart + 2] ?? 0) : REASON.success
  if (end > bodyStart + 3) {
    const read = readProperties(bytes, { at: bodyStart + 3, limit: end, allowed: ALLOWED.answer })
    if (typeof read === 'number') return { kind: 'wrong', explained: explain(read) }
    if (read.end !== end) return MALFORMED
  }
  return first === FIRST.pubrel ? { kind: 'release', id } : { kind: 'answer', type: first >>> 4, id, reason }
}

function readSubscription(bytes: Buffer, span: Span, kind: 'subscribe' | 'unsubscribe'): ControlV5 {
  const at = span.bodyStart + 2
  if (at >= span.end) return MALFORMED
  const read = readProperties(bytes, { at, limit: span.end, allowed: ALLOWED[kind] })
  if (typeof read === 'number') return { kind: 'wrong', explained: explain(read) }
  if (read.values.has(PROPERTY.subscriptionId))
    return { kind: 'wrong', explained: explain(REASON.subscriptionId) }
  const requests = readFilters(bytes, span, { withQos: kind === 'subscribe', isV5: true, start: read.end })
  if (requests === undefined) return MALFORMED
  return { kind, id: readUint16(bytes, span.bodyStart), requests }
}
