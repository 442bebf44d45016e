// What the kit saw of a device: its connections and what it published over each.
import type { IConnectPacket } from 'mqtt-packet'
import type { JsonObject } from '../../../../schemas/json.ts'

export interface PublishedMessage {
  /** Counts the messages of all connections of a broker. */
  readonly number: number
  /** Milliseconds since 1970. */
  readonly at: number
  readonly topic: string
  readonly payload: Buffer
  /** The payload, if it is a JSON object. */
  readonly body: JsonObject | undefined
  readonly qos: number
  readonly retain: boolean
  readonly dup: boolean
  /** Messages of QoS 0 have none. */
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
  /** When CONNACK was sent that welcomed the device. */
  readonly acceptedAt: number | undefined
  readonly closedAt: number | undefined
  /** When the kit began to leave something unanswered. */
  readonly disturbedAt: number | undefined
  readonly published: readonly PublishedMessage[]
  readonly subscribed: readonly SubscribedTopic[]
}

/** A recording as far as the kit did nothing unusual to the connection. */
export function calmUntil({ closedAt, disturbedAt }: Recording, now: number): number {
  return Math.min(closedAt ?? now, disturbedAt ?? now)
}

/** One line that shows the packet. */
export function shown({ topic, qos, retain, payload }: PublishedMessage): string {
  const text = payload.subarray(0, 300).toString('utf8')
  return `PUBLISH ${topic} (QoS ${qos}${retain ? ', retained' : ''}): ${text}`
}

/** True if a subscription takes the topic. */
export function takes(filter: string, topic: string): boolean {
  const wanted = filter.split('/')
  const parts = topic.split('/')
  for (const [index, part] of wanted.entries()) {
    if (part === '#') return true
    if (part !== '+' && part !== parts[index]) return false
  }
  return wanted.length === parts.length
}
