// Packets that the broker sends, as bytes. What MQTT 5 adds is in `encode-v5.ts`. Pure.
import { Buffer } from 'node:buffer'
import type { Qos } from '../filters.ts'
import { PACKET } from './packets.ts'

export const PINGRESP = Buffer.from([PACKET.pingresp << 4, 0])
/** The return code of a filter that is not granted. */
export const SUBACK_REFUSED = 0x80

export function connack(code: number, sessionPresent: boolean): Buffer {
  return Buffer.from([PACKET.connack << 4, 2, sessionPresent ? 1 : 0, code])
}

/** Encodes a packet that consists of its type and a packet id: PUBACK, PUBREC, PUBREL, PUBCOMP or UNSUBACK. */
export function answer(type: number, packetId: number): Buffer {
  // MQTT reserves the flags of PUBREL and gives them this value.
  const flags = type === PACKET.pubrel ? 2 : 0
  return Buffer.from([(type << 4) | flags, 2, packetId >>> 8, packetId & 0xff])
}

/** `codes`: the granted QoS or `SUBACK_REFUSED` for each filter, in the order of the SUBSCRIBE. */
export function suback(packetId: number, codes: readonly number[]): Buffer {
  const { packet, at } = begin(PACKET.suback << 4, 2 + codes.length)
  packet.set(codes, packet.writeUInt16BE(packetId, at))
  return packet
}

export interface PublishFields {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: Qos
  readonly retain: boolean
  readonly isDup: boolean
  /** 0 for QoS 0. */
  readonly id: number
}

export function publish({ topic, payload, qos, retain, isDup, id }: PublishFields): Buffer {
  const topicBytes = Buffer.byteLength(topic)
  const flags = (isDup ? 8 : 0) | (qos << 1) | (retain ? 1 : 0)
  const length = 2 + topicBytes + (qos === 0 ? 0 : 2) + payload.length
  const { packet, at } = begin((PACKET.publish << 4) | flags, length)
  let next = packet.writeUInt16BE(topicBytes, at)
  next += packet.write(topic, next)
  if (qos !== 0) next = packet.writeUInt16BE(id, next)
  packet.set(payload, next)
  return packet
}

/** Allocates a packet whose body has `length` bytes and writes the fixed header. `at`: where the body starts. */
export function begin(first: number, length: number): { readonly packet: Buffer; readonly at: number } {
  const sizeBytes = length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x20_0000 ? 3 : 4
  const packet = Buffer.allocUnsafe(1 + sizeBytes + length)
  packet[0] = first
  let left = length
  for (let at = 1; at <= sizeBytes; at++) {
    packet[at] = (left & 0x7f) | (at < sizeBytes ? 0x80 : 0)
    left >>>= 7
  }
  return { packet, at: 1 + sizeBytes }
}
