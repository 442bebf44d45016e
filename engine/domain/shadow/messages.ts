// The messages of a shadow to its device. `shadow/desired` is retained, so a device that was away gets it on
// subscribing.
//
// Send `desiredMessage` when the delta moved, when a device connects (an earlier message may have been lost, and the
// retained one may be outdated), and when a device itself published on that topic.
import { type DeviceId, type Millis, toIso } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { REFUSALS } from '../../../schemas/refusals.ts'
import { topicOf } from '../../../schemas/topics.ts'
import { LIMITS } from '../../limits.ts'
import { type DownlinkMessage, toDownlink } from '../downlink.ts'
import { shadowDelta } from './delta.ts'
import { toMetadata } from './leaf-times.ts'
import type { Shadow } from './record.ts'
import type { ShadowRefusal } from './write.ts'

/** A shadow in sync gives `{version, state: {}}`, so that the device learns the version. */
export function desiredMessage(shadow: Shadow, now: Millis): DownlinkMessage {
  const { state, metadata } = shadowDelta(shadow)
  const body = { version: shadow.version, state, metadata, timestamp: toIso(shadow.updatedAt ?? now) }
  return withinSizeLimit('shadow/desired', body, { retain: true })
}

export function acceptedMessage(
  shadow: Shadow,
  { now, clientToken }: { readonly now: Millis; readonly clientToken: string | undefined },
): DownlinkMessage {
  const body = { version: shadow.version, timestamp: toIso(now), ...tokenOf(clientToken) }
  return toDownlink('shadow/reported/accepted', body)
}

/** The problem object of REST without its `type`. */
export function rejectedMessage(
  { code, detail }: Pick<ShadowRefusal, 'detail'> & { readonly code: keyof typeof REFUSALS },
  about: {
    readonly deviceId: DeviceId
    readonly now: Millis
    readonly clientToken: string | undefined
    /** Identifies the rejected message, in the form of a dead letter's id. */
    readonly messageId: string
  },
): DownlinkMessage {
  const { message, ...members } = detail
  // The functions that refuse build the detail from JSON values.
  const body = {
    ...members,
    title: REFUSALS[code].title,
    status: REFUSALS[code].status,
    code,
    detail: message,
    instance: topicOf(about.deviceId, 'shadow/reported'),
    request_id: about.messageId,
    timestamp: toIso(about.now),
    ...tokenOf(about.clientToken),
  } as JsonObject
  return toDownlink('shadow/reported/rejected', body)
}

/** The answer to `shadow/get`. */
export function documentMessage(
  deviceId: DeviceId,
  shadow: Shadow,
  { now, clientToken }: { readonly now: Millis; readonly clientToken?: string | undefined },
): DownlinkMessage {
  const body = { ...toDocument(deviceId, shadow), timestamp: toIso(now), ...tokenOf(clientToken) }
  return withinSizeLimit('shadow/get/accepted', body)
}

/** Leaves the metadata out if the message would be too large: ten thousand tiny leaves have more metadata than
 *  state. */
function withinSizeLimit(
  suffix: string,
  body: JsonObject,
  options?: { readonly retain: boolean },
): DownlinkMessage {
  const message = toDownlink(suffix, body, options)
  if (message.payload.length <= LIMITS.payloadBytesMax) return message
  const { metadata: _, ...rest } = body
  return toDownlink(suffix, rest, options)
}

/** The whole document as REST and MQTT show it. */
export function toDocument(deviceId: DeviceId, shadow: Shadow): JsonObject {
  const { version, desired, reported, desiredTimes, reportedTimes, updatedAt } = shadow
  const { state: delta } = shadowDelta(shadow)
  return {
    device_id: deviceId,
    version,
    desired,
    reported,
    delta,
    metadata: {
      desired: toMetadata(desired, desiredTimes),
      reported: toMetadata(reported, reportedTimes),
    },
    in_sync: Object.keys(delta).length === 0,
    updated_at: updatedAt === undefined ? null : toIso(updatedAt),
  }
}

function tokenOf(clientToken: string | undefined): JsonObject {
  return clientToken === undefined ? {} : { client_token: clientToken }
}
