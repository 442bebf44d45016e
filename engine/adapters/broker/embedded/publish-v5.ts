// A PUBLISH of MQTT 5: where its parts are, and which topic an alias stands for. Pure.
import type { Buffer } from 'node:buffer'
import { LIMITS } from '../../../limits.ts'
import { readUint16, type Span } from './packets.ts'
import { ALLOWED, PROPERTY, readProperties } from './properties.ts'
import { REASON, type Reason } from './reasons.ts'
import type { KnownTopic } from './topic-cache.ts'

export interface PublishParts {
  readonly topicStart: number
  /** Equal to `topicStart` if the topic is given by an alias only. */
  readonly topicEnd: number
  /** 0 for QoS 0. */
  readonly id: number
  readonly payloadStart: number
  readonly alias: number | undefined
  readonly expirySec: number | undefined
  /** A copy of the properties that are forwarded with the message. */
  readonly properties: Buffer | undefined
}

/** Returns the reason if the packet breaks a rule. */
export function readPublishV5(bytes: Buffer, { first, bodyStart, end }: Span): PublishParts | Reason {
  const qos = (first >>> 1) & 3
  const topicStart = bodyStart + 2
  const topicEnd = topicStart + readUint16(bytes, bodyStart)
  const at = qos === 0 ? topicEnd : topicEnd + 2
  if (qos === 3 || at >= end) return REASON.malformed
  const id = qos === 0 ? 0 : readUint16(bytes, topicEnd)
  if (qos !== 0 && id === 0) return REASON.protocolError
  // Most messages have no properties.
  if (bytes[at] === 0) {
    const payloadStart = at + 1
    if (topicStart === topicEnd) return REASON.protocolError
    if (end - payloadStart > LIMITS.payloadBytesMax) return REASON.tooLarge
    const none = { alias: undefined, expirySec: undefined, properties: undefined }
    return { topicStart, topicEnd, id, payloadStart, ...none }
  }
  const read = readProperties(bytes, { at, limit: end, allowed: ALLOWED.publish })
  if (typeof read === 'number') return read
  const alias = read.values.get(PROPERTY.topicAlias)
  if (alias === 0 || (alias ?? 0) > LIMITS.topicAliasesMax) return REASON.badAlias
  if (topicStart === topicEnd && alias === undefined) return REASON.protocolError
  if (end - read.end > LIMITS.payloadBytesMax) return REASON.tooLarge
  const expirySec = read.values.get(PROPERTY.messageExpiry)
  return { topicStart, topicEnd, id, payloadStart: read.end, alias, expirySec, properties: read.forwarded }
}

/** One of the device's own topics, or, as text, a topic that it may not publish to. */
export type NamedTopic = KnownTopic | string

export class TopicAliases {
  readonly #topics = new Map<number, NamedTopic>()

  get(alias: number | undefined): NamedTopic | undefined {
    return alias === undefined ? undefined : this.#topics.get(alias)
  }

  set(alias: number | undefined, topic: NamedTopic): void {
    if (alias !== undefined) this.#topics.set(alias, topic)
  }
}
