// Decodes a CONNECT of MQTT 5. Pure.
import type { Buffer } from 'node:buffer'
import { LIMITS } from '../../../limits.ts'
import type { Connect, ParsedConnect, RawWill } from './connect-fields.ts'
import { refuseV5 } from './encode-v5.ts'
import { readText, readUint16 } from './packets.ts'
import { ALLOWED, PROPERTY, type Properties, readProperties } from './properties.ts'
import { type ExplainedReason, REASON, type Reason } from './reasons.ts'

/** A session expiry interval that never ends. */
const EXPIRES_NEVER = 0xffff_ffff

export function toExpirySec(interval: number): number {
  return interval === EXPIRES_NEVER ? Number.POSITIVE_INFINITY : interval
}

const FLAG = {
  reserved: 1,
  cleanStart: 2,
  will: 4,
  willRetain: 0x20,
  password: 0x40,
  username: 0x80,
} as const

/** `at`: where the protocol level stands. */
export function parseConnectV5(packet: Buffer, at: number): ParsedConnect {
  const reader = new Reader(packet, at + 1)
  const flags = reader.byte()
  const keepAlive = reader.uint16()
  const properties = reader.properties(ALLOWED.connect)
  const clientId = reader.text()
  const will = (flags & FLAG.will) === 0 ? undefined : readWill(reader, flags)
  const username = (flags & FLAG.username) === 0 ? undefined : reader.text()
  const password = (flags & FLAG.password) === 0 ? undefined : reader.bytes()
  const isWillQosStray = (flags & FLAG.will) === 0 && (flags & 0x38) !== 0
  if (reader.fault !== undefined) return refused(reader.fault)
  if (!reader.isAtEnd || (flags & FLAG.reserved) !== 0 || isWillQosStray) return refused(MALFORMED)
  const values = properties?.values ?? new Map<number, number>()
  const fault = faultOf(values, clientId)
  if (fault !== undefined) return refused(fault)
  const seconds = Math.min(keepAlive || LIMITS.keepAliveSecMax, LIMITS.keepAliveSecMax)
  const connect: Connect = {
    clientId: clientId ?? '',
    username,
    password,
    clean: (flags & FLAG.cleanStart) !== 0,
    keepAliveMs: seconds * 1000,
    will,
    v5Options: {
      receiveMax: values.get(PROPERTY.receiveMax) ?? 0xffff,
      packetBytesMax: values.get(PROPERTY.packetBytesMax) ?? Number.POSITIVE_INFINITY,
      wantsReasons: values.get(PROPERTY.requestProblems) !== 0,
      sessionExpirySec: toExpirySec(values.get(PROPERTY.sessionExpiry) ?? 0),
      isKeepAliveChanged: seconds !== keepAlive,
    },
  }
  return { kind: 'connect', connect }
}

const MALFORMED: ExplainedReason = { reason: REASON.malformed, text: 'the CONNECT packet cannot be read' }

function faultOf(
  values: ReadonlyMap<number, number>,
  clientId: string | undefined,
): ExplainedReason | undefined {
  if (values.has(PROPERTY.authenticationMethod))
    return {
      reason: REASON.authenticationMethod,
      text: 'no authentication method is known; the password is the token of the device',
    }
  const isZero = (id: number) => values.get(id) === 0
  if (
    isZero(PROPERTY.receiveMax) ||
    isZero(PROPERTY.packetBytesMax) ||
    values.has(PROPERTY.authenticationData)
  )
    return {
      reason: REASON.protocolError,
      text: 'a property of CONNECT has a value that MQTT does not allow',
    }
  if (clientId === '')
    return { reason: REASON.clientId, text: 'no client id is assigned; the client id is the device id' }
  return undefined
}

function refused(fault: ExplainedReason): ParsedConnect {
  return { kind: 'refused', reply: refuseV5(fault) }
}

function readWill(reader: Reader, flags: number): RawWill | undefined {
  const properties = reader.properties(ALLOWED.will)
  const topic = reader.text()
  const payload = reader.bytes()
  const qos = (flags >>> 3) & 3
  if (qos === 3) reader.fail(REASON.malformed)
  if (topic === undefined || payload === undefined || qos === 3) return undefined
  return {
    topic,
    payload,
    qos: qos as RawWill['qos'],
    retain: (flags & FLAG.willRetain) !== 0,
    delaySec: properties?.values.get(PROPERTY.willDelay) ?? 0,
    forwarded: properties?.forwarded,
    expirySec: properties?.values.get(PROPERTY.messageExpiry),
  }
}

/** Reads fields in order, and stops at the first one that is missing. */
class Reader {
  readonly #bytes: Buffer
  #at: number
  fault: ExplainedReason | undefined

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.#at = at
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  fail(reason: Reason): undefined {
    this.fault ??= { reason, text: MALFORMED.text }
    return undefined
  }

  byte(): number {
    return this.#take(1)?.[0] ?? 0
  }

  uint16(): number {
    const bytes = this.#take(2)
    return bytes === undefined ? 0 : readUint16(bytes, 0)
  }

  bytes(): Buffer | undefined {
    return this.#take(this.uint16())
  }

  text(): string | undefined {
    const bytes = this.bytes()
    return bytes && (readText(bytes, 0, bytes.length) ?? this.fail(REASON.malformed))
  }

  properties(allowed: ReadonlySet<number>): Properties | undefined {
    if (this.fault !== undefined) return undefined
    const read = readProperties(this.#bytes, { at: this.#at, limit: this.#bytes.length, allowed })
    if (typeof read === 'number') return this.fail(read)
    this.#at = read.end
    return read
  }

  #take(count: number): Buffer | undefined {
    if (this.fault !== undefined || this.#at + count > this.#bytes.length) return this.fail(REASON.malformed)
    const taken = this.#bytes.subarray(this.#at, this.#at + count)
    this.#at += count
    return taken
  }
}
