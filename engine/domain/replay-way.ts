// The way of a dead letter that is sent again: to whom, and through which gateway.
import type { DeviceId } from '../../schemas/ids.ts'
import { parseSubSuffix, splitTopic } from '../../schemas/topics.ts'

interface Way {
  readonly deviceId: DeviceId
  /** The gateway that sent it for the device. */
  readonly via: DeviceId | undefined
  readonly suffix: string
}

/** Undefined for a letter that is not kept whole, or has no topic of a device. */
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
