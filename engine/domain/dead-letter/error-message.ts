// Makes the message on `error` that tells a device about its unusable message.
import { type DeviceId, type Micros, parseDeviceId, toIso, toMillis } from '../../../schemas/ids.ts'
import { ERROR_SUFFIX, TOPIC_ROOT, toSubSuffix } from '../../../schemas/topics.ts'
import { type DownlinkMessage, toDownlink } from '../downlink.ts'
import { adviceOn } from './advice.ts'

export interface AddressedMessage {
  /** The device over whose connection the message is sent. */
  readonly deviceId: DeviceId
  readonly message: DownlinkMessage
}

/** A dead letter, but without its payload. */
export interface UnusableMessage {
  readonly deviceId: DeviceId
  /** The whole topic. */
  readonly topic: string
  readonly reason: string
  readonly detail: string
  readonly receivedAt: Micros
}

/** Returns undefined if the dead letter belongs to no known device. */
export function errorMessage({
  deviceId,
  topic,
  reason,
  detail,
  receivedAt,
}: UnusableMessage): AddressedMessage | undefined {
  if (deviceId === '') return undefined
  const timestamp = toIso(toMillis(receivedAt))
  const body = { code: reason, detail, topic, advice: adviceOn(reason), timestamp }
  // A device may name any forbidden topic, so the topic does not show over which connection the message came.
  const via = reason === 'FORBIDDEN_TOPIC' ? undefined : gatewayOf(topic, deviceId)
  const suffix = via === undefined ? ERROR_SUFFIX : toSubSuffix(deviceId, ERROR_SUFFIX)
  return { deviceId: via ?? deviceId, message: toDownlink(suffix, body, { qos: 0 }) }
}

function gatewayOf(topic: string, deviceId: DeviceId): DeviceId | undefined {
  const [root, owner = '', sub, id] = topic.split('/', 4)
  const isThrough = root === TOPIC_ROOT && sub === 'sub' && id === deviceId && owner !== deviceId
  return isThrough ? parseDeviceId(owner) : undefined
}
