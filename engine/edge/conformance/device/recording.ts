// The recorded connections of a device and the messages that it published over each.
import type { IConnectPacket } from 'mqtt-packet'
import type { JsonObject } from '../../../../schemas/json.ts'

export interface PublishedMessage {
  /** The number of the message among all connections of a broker. */
  readonly number: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly topic: string
  readonly payload: Buffer
  /** The payload as a JSON object. Undefined if it is not one. */
  readonly body: JsonObject | undefined
  readonly qos: number
  readonly retain: boolean
  readonly dup: boolean
  /** Undefined for messages of QoS 0. */
  readonly messageId: number | undefined
  readonly isAcknowledged: boolean
}

export interface SubscribedTopic {
  readonly at: number
  readonly topic: string
  readonly qos: number
}

export interface Recording {
  readonly openedAt: number
  readonly connect: IConnectPacket | undefined
  /** The time of the CONNACK that accepted the device. */
  readonly acceptedAt: number | undefined
  readonly closedAt: number | undefined
  /** The time from which the kit left something unanswered. */
  readonly alteredAt: number | undefined
  readonly published: readonly PublishedMessage[]
  readonly subscribed: readonly SubscribedTopic[]
}

/** Returns the time until which the kit treated the connection normally. */
export function unalteredUntil({ closedAt, alteredAt }: Recording, now: number): number {
  return Math.min(closedAt ?? now, alteredAt ?? now)
}

/** Returns one line that describes the packet. */
export function toEvidence({ topic, qos, retain, payload }: PublishedMessage): string {
  const text = payload.subarray(0, 300).toString('utf8')
  return `PUBLISH ${topic} (QoS ${qos}${retain ? ', retained' : ''}): ${text}`
}

/** Returns true if the topic matches the filter of a subscription. */
export function matchesFilter(filter: string, topic: string): boolean {
  const wanted = filter.split('/')
  const parts = topic.split('/')
  for (const [index, part] of wanted.entries()) {
    if (part === '#') return true
    if (part !== '+' && part !== parts[index]) return false
  }
  return wanted.length === parts.length
}
