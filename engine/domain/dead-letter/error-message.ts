// What a device is told on `error` of a message that could not be used.
import { type DeviceId, type Micros, parseDeviceId, toIso, toMillis } from '../../../schemas/ids.ts'
import { ERROR_SUFFIX, TOPIC_ROOT, toSubSuffix } from '../../../schemas/topics.ts'
import { type DownlinkMessage, toDownlink } from '../downlink.ts'
import { adviceOn } from './advice.ts'

export interface AddressedMessage {
  /** The device whose connection it goes through. */
  readonly deviceId: DeviceId
  readonly message: DownlinkMessage
}

/** A dead letter without the message itself. */
export interface UselessMessage {
  readonly deviceId: DeviceId
  /** The whole topic. */
  readonly topic: string
  readonly reason: string
  readonly detail: string
  readonly receivedAt: Micros
}

/** Undefined for a dead letter of no known device. */
export function errorMessage({
  deviceId,
  topic,
  reason,
  detail,
  receivedAt,
}: UselessMessage): AddressedMessage | undefined {
  if (deviceId === '') return undefined
  const timestamp = toIso(toMillis(receivedAt))
  const body = { code: reason, detail, topic, advice: adviceOn(reason), timestamp }
  // A device names a forbidden topic as it likes: it says nothing about the way that the message came.
  const via = reason === 'FORBIDDEN_TOPIC' ? undefined : gatewayOf(topic, deviceId)
  const suffix = via === undefined ? ERROR_SUFFIX : toSubSuffix(deviceId, ERROR_SUFFIX)
  return { deviceId: via ?? deviceId, message: toDownlink(suffix, body, { qos: 0 }) }
}

function gatewayOf(topic: string, deviceId: DeviceId): DeviceId | undefined {
  const [root, owner = '', sub, id] = topic.split('/', 4)
  const isThrough = root === TOPIC_ROOT && sub === 'sub' && id === deviceId && owner !== deviceId
  return isThrough ? parseDeviceId(owner) : undefined
}
