// Retained messages: three topics per device, and one of each sub-device of a gateway, whoever asks for more.
import { type DeviceId, parseDeviceId } from '../../../../schemas/ids.ts'
import { isRetainable, parseSubSuffix, suffixOf, TOPIC_ROOT } from '../../../../schemas/topics.ts'
import { isMatch } from '../filters.ts'
import type { StoredPacket } from './session-state.ts'

export type RetainedPacket = StoredPacket & { readonly cmd: 'publish'; readonly retain: true }

/** The one topic the service itself retains on, also for a gateway's sub-devices. */
const DESIRED = 'shadow/desired'

function isKept(suffix: string): boolean {
  return isRetainable(suffix) || (parseSubSuffix(suffix)?.suffix ?? suffix) === DESIRED
}

export class Retained {
  readonly #devices = new Map<DeviceId, Map<string, RetainedPacket>>()

  /** An empty payload clears. Other topics are not retained. */
  store(packet: StoredPacket): void {
    const place = placeOf(packet.topic)
    if (place === undefined || !isKept(place.suffix)) return
    const topics = this.#devices.get(place.deviceId) ?? new Map<string, RetainedPacket>()
    if (packet.payload.length === 0) topics.delete(place.suffix)
    else topics.set(place.suffix, { ...packet, cmd: 'publish', retain: true })
    if (topics.size === 0) this.#devices.delete(place.deviceId)
    else this.#devices.set(place.deviceId, topics)
  }

  /** What a new subscription to this filter is sent. */
  matching(filter: string): readonly RetainedPacket[] {
    const place = placeOf(filter)
    const topics = place && this.#devices.get(place.deviceId)
    if (place === undefined || topics === undefined) return []
    return [...topics].flatMap(([suffix, packet]) => (isMatch(place.suffix, suffix) ? [packet] : []))
  }

  forget(deviceId: DeviceId): void {
    this.#devices.delete(deviceId)
  }
}

/** Whose topic or filter it is: the first two levels are always plain. */
export function placeOf(topic: string): { readonly deviceId: DeviceId; readonly suffix: string } | undefined {
  const deviceId = topic.startsWith(`${TOPIC_ROOT}/`) ? parseDeviceId(topic.split('/', 2)[1]) : undefined
  const suffix = deviceId === undefined ? undefined : suffixOf(deviceId, topic)
  return deviceId === undefined || suffix === undefined ? undefined : { deviceId, suffix }
}
