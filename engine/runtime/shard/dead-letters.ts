// Makes dead letters of messages.
import { Buffer } from 'node:buffer'
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { topicOf, toSubSuffix } from '../../../schemas/topics.ts'
import { ITEM, type Item } from '../../domain/bundle.ts'
import { forbiddenTopic } from '../../domain/dead-letter/stray-topic.ts'
import { LIMITS } from '../../limits.ts'
import type { Entry } from '../../ports/log.ts'
import type { DeadLetter } from '../../ports/store.ts'
import type { Incoming } from './incoming.ts'

export function toDeadLetter(
  { item, entry, index }: Pick<Incoming, 'item' | 'entry' | 'index'>,
  { reason, detail }: { readonly reason: string; readonly detail: string },
): DeadLetter {
  // Written by the ingress from a valid device id.
  const deviceId = Buffer.from(item.id).toString('latin1') as DeviceId
  const suffix = Buffer.from(item.suffix).toString('utf8')
  const gateway = viaOf(item)
  const forbidden = forbiddenTopic(suffix)
  return {
    id: `dl_${entry.partition}_${entry.seq}_${index}`,
    deviceId,
    topic:
      forbidden ??
      (gateway === undefined ? topicOf(deviceId, suffix) : topicOf(gateway, toSubSuffix(deviceId, suffix))),
    reason,
    detail,
    // A copy: the item is a view of its whole commit.
    payload: Uint8Array.from(item.payload.subarray(0, LIMITS.deadLetterPayloadBytesMax)),
    payloadBytes: item.payload.length,
    receivedAt: item.receivedAt,
  }
}

/** The gateway that a message came through. */
export function viaOf({ via }: Item): DeviceId | undefined {
  // Written by the ingress from a valid device id.
  return via.length === 0 ? undefined : (Buffer.from(via).toString('latin1') as DeviceId)
}

const NO_BYTES = new Uint8Array(0)
const NO_ITEM: Item = {
  kind: ITEM.parked,
  flags: 0,
  receivedAt: Micros(0),
  id: NO_BYTES,
  via: NO_BYTES,
  origin: NO_BYTES,
  suffix: NO_BYTES,
  payload: NO_BYTES,
}

/** A dead letter with the rest of an entry that cannot be read from this message on. */
export function unreadableRest(entry: Entry, index: number, detail: string): DeadLetter {
  return toDeadLetter({ item: NO_ITEM, entry, index }, { reason: 'UNREADABLE', detail })
}
