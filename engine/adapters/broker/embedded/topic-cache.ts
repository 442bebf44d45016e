// Looks up the topics of one session by their bytes. A device uses few, so each is decoded once.
import type { Buffer } from 'node:buffer'
import { Buffer as Bytes } from 'node:buffer'
import type { DeviceId } from '../../../../schemas/ids.ts'
import { isRetainable, suffixOf } from '../../../../schemas/topics.ts'
import { LIMITS } from '../../../limits.ts'
import type { Filters } from '../filters.ts'
import { isTopicName, readText } from './packets.ts'

const TOPICS_MAX = 8
const BOUNDS = { bytes: LIMITS.topicBytesMax, levels: LIMITS.topicLevelsMax }

export class KnownTopic {
  readonly suffix: string
  readonly bytes: Buffer
  readonly isRetainable: boolean
  #echoQos = -1
  #filtersVersion = -1

  constructor(suffix: string, bytes: Buffer) {
    this.suffix = suffix
    this.bytes = bytes
    this.isRetainable = isRetainable(suffix)
  }

  /** True if the device is subscribed to this topic, which is its own. */
  isEchoed(filters: Filters): boolean {
    if (this.#filtersVersion !== filters.version) {
      this.#filtersVersion = filters.version
      this.#echoQos = filters.echoQosFor(this.suffix)
    }
    return this.#echoQos >= 0
  }
}

export class TopicCache {
  readonly #deviceId: DeviceId
  readonly #known: KnownTopic[] = []
  #last: KnownTopic | undefined
  #oldest = 0

  constructor(deviceId: DeviceId) {
    this.#deviceId = deviceId
  }

  /** Undefined if the bytes are not a topic name in the device's own namespace. */
  find(bytes: Buffer, start: number, end: number): KnownTopic | undefined {
    const last = this.#last
    if (last !== undefined && isSameTopic(last.bytes, bytes, start, end)) return last
    for (const known of this.#known) {
      if (isSameTopic(known.bytes, bytes, start, end)) {
        this.#last = known
        return known
      }
    }
    return this.#add(bytes, start, end)
  }

  /** The topic name in these bytes, in any namespace; undefined if they are none. */
  nameOf(bytes: Buffer, start: number, end: number): string | undefined {
    if (end - start > LIMITS.topicBytesMax) return undefined
    const topic = readText(bytes, start, end)
    return topic !== undefined && isTopicName(topic, BOUNDS) ? topic : undefined
  }

  #add(bytes: Buffer, start: number, end: number): KnownTopic | undefined {
    const topic = this.nameOf(bytes, start, end)
    const suffix = topic && suffixOf(this.#deviceId, topic)
    if (suffix === undefined) return undefined
    // A copy: the topic must not keep the chunk that it came in alive.
    const known = new KnownTopic(suffix, Bytes.from(bytes.subarray(start, end)))
    this.#known[this.#oldest] = known
    this.#oldest = (this.#oldest + 1) % TOPICS_MAX
    this.#last = known
    return known
  }
}

function isSameTopic(known: Buffer, bytes: Buffer, start: number, end: number): boolean {
  const { length } = known
  if (length !== end - start) return false
  // Compared from the end, since all topics of a device start with the same bytes.
  for (let index = length - 1; index >= 0; index--) if (known[index] !== bytes[start + index]) return false
  return true
}
