// The grammar of device topics: `fleet/{device_id}/…`. The part after the device id is called the suffix. A gateway has a
// namespace for each of its sub-devices: `fleet/{gateway}/sub/{device_id}/…`, followed by that device's own suffix.
import { type DeviceId, parseDeviceId } from './ids.ts'

export const TOPIC_ROOT = 'fleet'

/** The kind of a device's message, derived from its topic alone. */
export type Uplink =
  | { readonly kind: 'telemetry'; readonly name: string | undefined }
  | { readonly kind: 'status' }
  | { readonly kind: 'reported' }
  | { readonly kind: 'shadow_get' }
  | { readonly kind: 'ack' }
  | { readonly kind: 'ota_status' }
  | { readonly kind: 'log' }
  | { readonly kind: 'token_get' }
  /** A message for a sub-device, which only a gateway may send. */
  | { readonly kind: 'sub' }
  /** A cloud-to-device topic. A device may publish there, but the message is ignored. */
  | { readonly kind: 'cloud_only' }
  | { readonly kind: 'other' }

/** Suffixes for messages to the device. The device may publish there, but the message is ignored. */
export const CLOUD_ONLY_SUFFIXES = ['command', 'shadow/desired', 'ota'] as const

const FIXED: Readonly<Record<string, Uplink>> = {
  telemetry: { kind: 'telemetry', name: undefined },
  status: { kind: 'status' },
  'shadow/reported': { kind: 'reported' },
  'shadow/get': { kind: 'shadow_get' },
  'command/ack': { kind: 'ack' },
  'ota/status': { kind: 'ota_status' },
  log: { kind: 'log' },
  'token/get': { kind: 'token_get' },
  ...Object.fromEntries(CLOUD_ONLY_SUFFIXES.map((suffix) => [suffix, { kind: 'cloud_only' } as const])),
}

/** Suffixes that devices publish on, except for those with names chosen by the device. */
export const DEVICE_SUFFIXES: readonly string[] = Object.keys(FIXED).filter(
  (suffix) => FIXED[suffix]?.kind !== 'cloud_only',
)

/** The suffixes on which a device requests a new token and gets it. */
export const TOKEN_GET_SUFFIX = 'token/get'
export const TOKEN_ACCEPTED_SUFFIX = 'token/accepted'

/** The suffixes on which a device with a provisioning key asks to be registered and is answered. No other client uses them.
 *  */
export const PROVISION_GET_SUFFIX = 'provision/get'
export const PROVISION_ACCEPTED_SUFFIX = 'provision/accepted'
export const PROVISION_REJECTED_SUFFIX = 'provision/rejected'

/** The suffix on which a device learns that one of its messages could not be used. */
export const ERROR_SUFFIX = 'error'

export function parseSuffix(suffix: string): Uplink {
  const fixed = Object.hasOwn(FIXED, suffix) ? FIXED[suffix] : undefined
  if (fixed !== undefined) return fixed
  if (suffix.startsWith('telemetry/') && suffix.length > 10)
    return { kind: 'telemetry', name: suffix.slice(10) }
  if (isSubSuffix(suffix)) return { kind: 'sub' }
  return { kind: 'other' }
}

const SUB = 'sub/'

export function isSubSuffix(suffix: string): boolean {
  return suffix.startsWith(SUB)
}

/** A gateway's suffix for one of its sub-devices. */
export function toSubSuffix(deviceId: DeviceId, suffix: string): string {
  return `${SUB}${deviceId}/${suffix}`
}

/** The sub-device that a gateway's suffix belongs to, and that device's own suffix. */
export function parseSubSuffix(
  suffix: string,
): { readonly deviceId: DeviceId; readonly suffix: string } | undefined {
  const end = isSubSuffix(suffix) ? suffix.indexOf('/', SUB.length) : -1
  const deviceId = end < 0 ? undefined : parseDeviceId(suffix.slice(SUB.length, end))
  return deviceId === undefined || end + 1 === suffix.length
    ? undefined
    : { deviceId, suffix: suffix.slice(end + 1) }
}

/** The only device topics on which the specification retains a message. */
export function isRetainable(suffix: string): boolean {
  return suffix === 'status' || suffix === 'shadow/reported'
}

export function topicOf(deviceId: DeviceId, suffix: string): string {
  return `${TOPIC_ROOT}/${deviceId}/${suffix}`
}

/** The suffix of a topic inside the device's own namespace, undefined for any other topic. */
export function suffixOf(deviceId: DeviceId, topic: string): string | undefined {
  const start = TOPIC_ROOT.length + 1
  const end = start + deviceId.length
  const own =
    topic.length > end + 1 &&
    topic.startsWith(`${TOPIC_ROOT}/`) &&
    topic.startsWith(deviceId, start) &&
    topic.charCodeAt(end) === 0x2f
  return own ? topic.slice(end + 1) : undefined
}

/** The device whose namespace contains a topic, and the rest of the topic. Undefined for any other topic. */
export function splitTopic(
  topic: string,
): { readonly deviceId: DeviceId; readonly suffix: string } | undefined {
  const [root, device = '', ...rest] = topic.split('/')
  const deviceId = root === TOPIC_ROOT ? parseDeviceId(device) : undefined
  const suffix = rest.join('/')
  return deviceId === undefined || suffix === '' ? undefined : { deviceId, suffix }
}

/** True if a filter stays inside `fleet/{device_id}/`. The first two levels are compared as text, never as wildcards. */
export function isOwnFilter(deviceId: DeviceId, filter: string): boolean {
  const suffix = suffixOf(deviceId, filter)
  return suffix !== undefined && !suffix.split('/').includes('..')
}
