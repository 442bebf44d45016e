// Retained messages: three topics per device, and one per sub-device of a gateway. A message on another topic is not
// retained, even if its sender asks for it.
import type { DeviceId, Millis } from '../../../../schemas/ids.ts'
import { isRetainable, parseSubSuffix } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import { isMatch } from '../filters.ts'
import type { Message } from './session-state.ts'

/** The only topic on which the service itself retains messages, also for a gateway's sub-devices. */
const DESIRED = 'shadow/desired'

function isKept(suffix: string): boolean {
  return isRetainable(suffix) || (parseSubSuffix(suffix)?.suffix ?? suffix) === DESIRED
}

export class RetainedMessages {
  readonly #devices = new Map<DeviceId, Map<string, Message>>()

  /** An empty payload clears the topic. */
  store(deviceId: DeviceId, message: Message): void {
    const { suffix, payload } = message
    if (!isKept(suffix)) return
    const topics = this.#devices.get(deviceId) ?? new Map<string, Message>()
    // What was retained there before is no longer the latest.
    if (isTooMuch(topics, message)) topics.delete(suffix)
    else if (payload.length === 0) topics.delete(suffix)
    else topics.set(suffix, message)
    if (topics.size === 0) this.#devices.delete(deviceId)
    else this.#devices.set(deviceId, topics)
  }

  /** Messages that are sent to a new subscription to this filter. */
  matching(deviceId: DeviceId, filter: string, now: Millis): readonly Message[] {
    const topics = [...(this.#devices.get(deviceId)?.values() ?? [])]
    return topics.filter(
      ({ suffix, expiresAt }) => isMatch(filter, suffix) && (expiresAt === undefined || now < expiresAt),
    )
  }

  forget(deviceId: DeviceId): void {
    this.#devices.delete(deviceId)
  }
}

/** Messages of the service are bounded by the shadow, and always retained. */
function isTooMuch(topics: ReadonlyMap<string, Message>, { suffix, payload }: Message): boolean {
  if (!isRetainable(suffix)) return false
  let bytes = payload.length
  for (const [other, kept] of topics)
    if (other !== suffix && isRetainable(other)) bytes += kept.payload.length
  return bytes > LIMITS.retainedBytesPerDeviceMax
}
