// Decodes a CONNECT and judges its last will. Pure.
import type { Buffer } from 'node:buffer'
import mqtt from 'mqtt-packet'
import type { DeviceId } from '../../../../schemas/ids.ts'
import { isRetainable, suffixOf } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import { CONNACK, type EndCause } from '../../../ports/broker.ts'
import type { ParsedConnect, RawWill } from './connect-fields.ts'
import { parseConnectV5 } from './connect-v5.ts'
import { connack } from './encode.ts'
import { isTopicName, readUint16 } from './packets.ts'

/** A last will that may be published. */
export interface Will extends Omit<RawWill, 'topic'> {
  readonly suffix: string
}

const MALFORMED: ParsedConnect = { kind: 'malformed' }
/** A bridge marks its protocol level with the top bit. */
const LEVEL = 0x7f

export function parseConnect(packet: Buffer, bodyStart: number): ParsedConnect {
  const nameEnd = bodyStart + 2 + readUint16(packet, bodyStart)
  const name = packet.toString('latin1', bodyStart + 2, Math.min(nameEnd, bodyStart + 16))
  if (nameEnd >= packet.length || (name !== 'MQTT' && name !== 'MQIsdp')) return MALFORMED
  const level = (packet[nameEnd] ?? 0) & LEVEL
  if (level === 5 && name === 'MQTT') return parseConnectV5(packet, nameEnd)
  if (level !== (name === 'MQTT' ? 4 : 3)) {
    return { kind: 'refused', reply: connack(CONNACK.protocol, false) }
  }
  const parsed = decode(packet)
  if (parsed === undefined) return MALFORMED
  if (parsed.clientId === '') return { kind: 'refused', reply: connack(CONNACK.identifier, false) }
  const seconds = Math.min(parsed.keepalive || LIMITS.keepAliveSecMax, LIMITS.keepAliveSecMax)
  const will = parsed.will && toWill(parsed.will)
  if (parsed.will !== undefined && will === undefined) return MALFORMED
  return {
    kind: 'connect',
    connect: {
      clientId: parsed.clientId,
      username: parsed.username,
      password: parsed.password,
      clean: parsed.clean,
      keepAliveMs: seconds * 1000,
      will,
      v5Options: undefined,
    },
  }
}

interface ConnectFields {
  readonly clientId: string
  readonly username: string | undefined
  readonly password: Buffer | undefined
  readonly clean: boolean
  readonly keepalive: number
  readonly will: WillFields | undefined
}

interface WillFields {
  readonly topic: string
  readonly payload: Uint8Array | string
  readonly qos?: number
  readonly retain?: boolean
}

function decode(packet: Buffer): ConnectFields | undefined {
  let decoded: ConnectFields | undefined
  const parser = mqtt.parser()
  parser.on('error', () => {})
  parser.on('packet', (parsed) => {
    if (parsed.cmd !== 'connect') return
    const { clientId, username, password, clean = false, keepalive = 0, will } = parsed
    decoded = { clientId, username, password, clean, keepalive, will }
  })
  parser.parse(packet)
  return decoded
}

function toWill({ topic, payload, qos = 0, retain = false }: WillFields): RawWill | undefined {
  if (typeof payload === 'string' || (qos !== 0 && qos !== 1 && qos !== 2)) return undefined
  return { topic, payload, qos, retain }
}

const CAUSES_WITHOUT_WILL: ReadonlySet<EndCause> = new Set([
  'disconnect',
  'takeover',
  'revoked',
  'expired',
  'shutdown',
])

/** A will is for a device that is gone unexpectedly, not for one that said goodbye, has come back or was sent away. */
export function isWillPublished(cause: EndCause): boolean {
  return !CAUSES_WITHOUT_WILL.has(cause)
}

/** The will as it may be published for this device. Undefined if it may not. */
export function allowWill(will: RawWill, deviceId: DeviceId): Will | undefined {
  const suffix = suffixOf(deviceId, will.topic)
  const isAllowed =
    suffix !== undefined &&
    isTopicName(will.topic, { bytes: LIMITS.topicBytesMax, levels: LIMITS.topicLevelsMax }) &&
    will.payload.length <= LIMITS.payloadBytesMax &&
    (!will.retain || isRetainable(suffix))
  if (!isAllowed) return undefined
  // A copy: the will must not keep the bytes of the CONNECT, password included, in memory.
  const { qos, retain, delaySec = 0, forwarded, expirySec } = will
  return { suffix, payload: Uint8Array.from(will.payload), qos, retain, delaySec, forwarded, expirySec }
}
