// How a dead letter is replayed: for which device, and through which gateway.
import type { DeviceId } from '../../schemas/ids.ts'
import { parseSubSuffix, splitTopic } from '../../schemas/topics.ts'

interface Way {
  readonly deviceId: DeviceId
  /** The gateway through which the message came. */
  readonly via: DeviceId | undefined
  readonly suffix: string
}

/** Undefined if the letter's payload was truncated or its topic is not a device's. */
export function replayWay({
  topic,
  payload,
  payloadBytes,
}: {
  readonly topic: string
  readonly payload: Uint8Array
  readonly payloadBytes: number
}): Way | undefined {
  const found = payload.length === payloadBytes ? splitTopic(topic) : undefined
  if (found === undefined) return undefined
  const sub = parseSubSuffix(found.suffix)
  return sub === undefined ? { ...found, via: undefined } : { ...sub, via: found.deviceId }
}
