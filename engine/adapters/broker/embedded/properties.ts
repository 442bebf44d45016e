// Property blocks of MQTT 5, read from the bytes without a parser. Pure.
import { Buffer, isUtf8 } from 'node:buffer'
import { LIMITS } from '../../../limits.ts'
import { readUint16 } from './packets.ts'
import { REASON, type Reason } from './reasons.ts'

export const PROPERTY = {
  payloadFormat: 0x01,
  messageExpiry: 0x02,
  contentType: 0x03,
  responseTopic: 0x08,
  correlationData: 0x09,
  subscriptionId: 0x0b,
  sessionExpiry: 0x11,
  serverKeepAlive: 0x13,
  authenticationMethod: 0x15,
  authenticationData: 0x16,
  requestProblems: 0x17,
  willDelay: 0x18,
  requestResponse: 0x19,
  reasonString: 0x1f,
  receiveMax: 0x21,
  topicAliasMax: 0x22,
  topicAlias: 0x23,
  userProperty: 0x26,
  packetBytesMax: 0x27,
  subscriptionIdsAvailable: 0x29,
  sharedAvailable: 0x2a,
} as const
export type PropertyId = (typeof PROPERTY)[keyof typeof PROPERTY]

type Shape = 'byte' | 'uint16' | 'uint32' | 'varint' | 'bytes' | 'text' | 'pair'

const SHAPES: ReadonlyMap<number, Shape> = new Map<number, Shape>([
  [PROPERTY.payloadFormat, 'byte'],
  [PROPERTY.messageExpiry, 'uint32'],
  [PROPERTY.contentType, 'text'],
  [PROPERTY.responseTopic, 'text'],
  [PROPERTY.correlationData, 'bytes'],
  [PROPERTY.subscriptionId, 'varint'],
  [PROPERTY.sessionExpiry, 'uint32'],
  [PROPERTY.authenticationMethod, 'text'],
  [PROPERTY.authenticationData, 'bytes'],
  [PROPERTY.requestProblems, 'byte'],
  [PROPERTY.willDelay, 'uint32'],
  [PROPERTY.requestResponse, 'byte'],
  [PROPERTY.reasonString, 'text'],
  [PROPERTY.receiveMax, 'uint16'],
  [PROPERTY.topicAliasMax, 'uint16'],
  [PROPERTY.topicAlias, 'uint16'],
  [PROPERTY.userProperty, 'pair'],
  [PROPERTY.packetBytesMax, 'uint32'],
])

/** The properties that a device may send, by packet. */
export const ALLOWED = {
  connect: new Set<number>([
    PROPERTY.sessionExpiry,
    PROPERTY.receiveMax,
    PROPERTY.packetBytesMax,
    PROPERTY.topicAliasMax,
    PROPERTY.requestResponse,
    PROPERTY.requestProblems,
    PROPERTY.userProperty,
    PROPERTY.authenticationMethod,
    PROPERTY.authenticationData,
  ]),
  will: new Set<number>([
    PROPERTY.willDelay,
    PROPERTY.payloadFormat,
    PROPERTY.messageExpiry,
    PROPERTY.contentType,
    PROPERTY.responseTopic,
    PROPERTY.correlationData,
    PROPERTY.userProperty,
  ]),
  publish: new Set<number>([
    PROPERTY.payloadFormat,
    PROPERTY.messageExpiry,
    PROPERTY.topicAlias,
    PROPERTY.responseTopic,
    PROPERTY.correlationData,
    PROPERTY.userProperty,
    PROPERTY.contentType,
  ]),
  answer: new Set<number>([PROPERTY.reasonString, PROPERTY.userProperty]),
  subscribe: new Set<number>([PROPERTY.subscriptionId, PROPERTY.userProperty]),
  unsubscribe: new Set<number>([PROPERTY.userProperty]),
  disconnect: new Set<number>([PROPERTY.sessionExpiry, PROPERTY.reasonString, PROPERTY.userProperty]),
} as const

/** Properties of a PUBLISH that are passed to the receiver unchanged. */
const FORWARDED: ReadonlySet<number> = new Set<number>([
  PROPERTY.payloadFormat,
  PROPERTY.contentType,
  PROPERTY.responseTopic,
  PROPERTY.correlationData,
  PROPERTY.userProperty,
])

export interface Properties {
  /** Where the block ends. */
  readonly end: number
  /** Values of the numeric properties; for all others, the length of their value. */
  readonly values: ReadonlyMap<number, number>
  /** A copy of the properties that are forwarded with the message, as bytes. */
  readonly forwarded: Buffer | undefined
}

const NOTHING: ReadonlyMap<number, number> = new Map()

/** Reads the block inside [at, limit) that begins with its length. Returns the reason if it is malformed. */
export function readProperties(
  bytes: Buffer,
  {
    at,
    limit,
    allowed,
  }: { readonly at: number; readonly limit: number; readonly allowed: ReadonlySet<number> },
): Properties | Reason {
  const length = readVarint(bytes, at, limit)
  if (length === undefined) return REASON.malformed
  const end = length.next + length.value
  if (end > limit) return REASON.malformed
  if (length.value === 0) return { end, values: NOTHING, forwarded: undefined }
  const values = new Map<number, number>()
  const forwarded: Buffer[] = []
  let count = 0
  for (let next = length.next; next < end; ) {
    const id = bytes[next] ?? 0
    const shape = SHAPES.get(id)
    if (shape === undefined || !allowed.has(id))
      return shape === undefined ? REASON.malformed : REASON.protocolError
    // Each property costs an entry here and bytes later: reading thousands would hold up everybody else.
    if (++count > LIMITS.propertiesMax) return REASON.tooLarge
    const value = readValue(bytes, { shape, at: next + 1, end })
    if (value === undefined) return REASON.malformed
    if (id !== PROPERTY.userProperty && values.has(id)) return REASON.protocolError
    values.set(id, value.value)
    if (FORWARDED.has(id)) forwarded.push(bytes.subarray(next, value.next))
    next = value.next
  }
  return { end, values, forwarded: forwarded.length === 0 ? undefined : Buffer.concat(forwarded) }
}

interface ReadValue {
  readonly value: number
  readonly next: number
}

function readValue(
  bytes: Buffer,
  { shape, at, end }: { readonly shape: Shape; readonly at: number; readonly end: number },
): ReadValue | undefined {
  switch (shape) {
    case 'byte':
      return at + 1 > end ? undefined : { value: bytes[at] ?? 0, next: at + 1 }
    case 'uint16':
      return at + 2 > end ? undefined : { value: readUint16(bytes, at), next: at + 2 }
    case 'uint32':
      return at + 4 > end ? undefined : { value: bytes.readUInt32BE(at), next: at + 4 }
    case 'varint':
      return readVarint(bytes, at, end)
    case 'bytes':
    case 'text':
      return readSized(bytes, { at, end, isText: shape === 'text' })
    case 'pair': {
      const name = readSized(bytes, { at, end, isText: true })
      return name && readSized(bytes, { at: name.next, end, isText: true })
    }
  }
}

function readSized(
  bytes: Buffer,
  { at, end, isText }: { readonly at: number; readonly end: number; readonly isText: boolean },
): ReadValue | undefined {
  if (at + 2 > end) return undefined
  const value = readUint16(bytes, at)
  const next = at + 2 + value
  if (next > end) return undefined
  const part = bytes.subarray(at + 2, next)
  return isText && (part.includes(0) || !isUtf8(part)) ? undefined : { value, next }
}

/** Reads a number of one to four bytes, seven bits in each. */
function readVarint(bytes: Uint8Array, at: number, limit: number): ReadValue | undefined {
  let value = 0
  for (let index = 0; index < 4; index++) {
    if (at + index >= limit) return undefined
    const byte = bytes[at + index] ?? 0
    value |= (byte & 0x7f) << (index * 7)
    if (byte < 0x80) return { value, next: at + index + 1 }
  }
  return undefined
}
