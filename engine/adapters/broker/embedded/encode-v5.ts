// Packets of MQTT 5 that differ from those of 3.1.1, as bytes. Pure.
import { Buffer } from 'node:buffer'
import { begin, type PublishFields } from './encode.ts'
import { PACKET } from './packets.ts'
import { PROPERTY, type PropertyId } from './properties.ts'
import { type ExplainedReason, REASON, type Reason } from './reasons.ts'

const NONE = Buffer.alloc(0)
/** A longer reason string helps nobody, and the packet must not exceed what the device accepts. */
const REASON_STRING_BYTES_MAX = 512

export interface ConnackFacts {
  readonly sessionPresent: boolean
  readonly receiveMax: number
  readonly packetBytesMax: number
  readonly topicAliasMax: number
  /** Undefined if the device keeps the keep-alive that it asked for. */
  readonly keepAliveSec: number | undefined
}

/** Accepts a device, and tells it what it may expect. */
export function connackV5(facts: ConnackFacts): Buffer {
  const { sessionPresent, receiveMax, packetBytesMax, topicAliasMax, keepAliveSec } = facts
  const properties = [
    uint16(PROPERTY.receiveMax, receiveMax),
    uint32(PROPERTY.packetBytesMax, packetBytesMax),
    uint16(PROPERTY.topicAliasMax, topicAliasMax),
    byte(PROPERTY.subscriptionIdsAvailable, 0),
    byte(PROPERTY.sharedAvailable, 0),
    ...(keepAliveSec === undefined ? [] : [uint16(PROPERTY.serverKeepAlive, keepAliveSec)]),
  ]
  return packetOf(PACKET.connack << 4, [
    Buffer.from([sessionPresent ? 1 : 0, REASON.success]),
    block(Buffer.concat(properties)),
  ])
}

export function refuseV5(explained: ExplainedReason): Buffer {
  return packetOf(PACKET.connack << 4, [Buffer.from([0, explained.reason]), explanation(explained.text)])
}

export function disconnectV5({ reason, text }: ExplainedReason): Buffer {
  return packetOf(PACKET.disconnect << 4, [Buffer.from([reason]), explanation(text)])
}

/** PUBACK, PUBREC, PUBREL or PUBCOMP with a reason. `text` is left out for a device that wants none. */
export function answerV5(
  type: number,
  packetId: number,
  { reason, text }: { readonly reason: Reason; readonly text?: string | undefined },
): Buffer {
  const flags = type === PACKET.pubrel ? 2 : 0
  const head = Buffer.from([packetId >>> 8, packetId & 0xff, reason])
  return packetOf((type << 4) | flags, text === undefined ? [head] : [head, explanation(text)])
}

/** SUBACK or UNSUBACK: a code for each filter, in the order of the request. */
export function grantsV5(
  type: number,
  packetId: number,
  { codes, text }: { readonly codes: readonly number[]; readonly text?: string | undefined },
): Buffer {
  return packetOf(type << 4, [
    Buffer.from([packetId >>> 8, packetId & 0xff]),
    text === undefined ? block(NONE) : explanation(text),
    Buffer.from(codes),
  ])
}

export interface PublishV5Fields extends PublishFields {
  /** Properties that came with the message. */
  readonly properties: Buffer | undefined
  readonly expirySec: number | undefined
  /** Topic on which a reply is expected, and the data that identifies it. */
  readonly request: { readonly topic: string; readonly correlation: string } | undefined
}

export function publishV5(fields: PublishV5Fields): Buffer {
  const { topic, payload, qos, retain, isDup, id, properties, expirySec, request } = fields
  const flags = (isDup ? 8 : 0) | (qos << 1) | (retain ? 1 : 0)
  const parts: Buffer[] = []
  if (expirySec !== undefined) parts.push(uint32(PROPERTY.messageExpiry, expirySec))
  if (request !== undefined)
    parts.push(
      sized(PROPERTY.responseTopic, request.topic),
      sized(PROPERTY.correlationData, request.correlation),
    )
  if (properties !== undefined) parts.push(properties)
  return packetOf((PACKET.publish << 4) | flags, [
    text(topic),
    qos === 0 ? NONE : Buffer.from([id >>> 8, id & 0xff]),
    block(parts.length === 0 ? NONE : Buffer.concat(parts)),
    payload,
  ])
}

function packetOf(first: number, parts: readonly Uint8Array[]): Buffer {
  const { packet, at } = begin(
    first,
    parts.reduce((sum, { length }) => sum + length, 0),
  )
  let next = at
  for (const part of parts) {
    packet.set(part, next)
    next += part.length
  }
  return packet
}

function explanation(words: string): Buffer {
  return block(sized(PROPERTY.reasonString, cut(words)))
}

/** Cuts at a whole character: half of one is not valid UTF-8. */
function cut(words: string): string {
  const bytes = Buffer.from(words.replaceAll('\0', ' '))
  if (bytes.length <= REASON_STRING_BYTES_MAX) return bytes.toString()
  let end = REASON_STRING_BYTES_MAX
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}

/** A property block: its length and its properties. */
function block(properties: Buffer): Buffer {
  const { length } = properties
  const size: number[] = []
  let left = length
  do {
    size.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0))
    left >>>= 7
  } while (left > 0)
  return Buffer.concat([Buffer.from(size), properties])
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([Buffer.from([bytes.length >>> 8, bytes.length & 0xff]), bytes])
}

function sized(id: PropertyId, value: string): Buffer {
  return Buffer.concat([Buffer.from([id]), text(value)])
}

function byte(id: PropertyId, value: number): Buffer {
  return Buffer.from([id, value])
}

function uint16(id: PropertyId, value: number): Buffer {
  return Buffer.from([id, value >>> 8, value & 0xff])
}

function uint32(id: PropertyId, value: number): Buffer {
  const bytes = Buffer.from([id, 0, 0, 0, 0])
  bytes.writeUInt32BE(value, 1)
  return bytes
}
