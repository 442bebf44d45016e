// What aedes asks its persistence for, answered from our bounded session states and retained messages. Its own
// in-memory persistence bounds nothing and searches the retained messages of all devices at every subscription.
import { Readable } from 'node:stream'
import { type DeviceId, parseDeviceId } from '../../../schemas/ids.ts'
import { isRetainable, suffixOf, TOPIC_ROOT } from '../../../schemas/topics.ts'
import { isMatch, type Qos } from './filters.ts'
import type { SessionStates, StoredPacket, Waiting } from './session-state.ts'

interface ClientRef {
  readonly id: string
}

interface PacketRef {
  readonly cmd?: string
  readonly messageId?: number | undefined
  readonly brokerCounter?: number
}

type RetainedPacket = StoredPacket & { readonly cmd: 'publish'; readonly retain: true }

const DESIRED = 'shadow/desired'

export class Persistence {
  readonly #states: SessionStates
  readonly #retained = new Map<DeviceId, Map<string, RetainedPacket>>()

  constructor(states: SessionStates) {
    this.#states = states
  }

  /** aedes insists on an async function. */
  async setup(): Promise<void> {}

  forgetRetained(deviceId: DeviceId): void {
    this.#retained.delete(deviceId)
  }

  async storeRetained(packet: StoredPacket): Promise<void> {
    const place = placeOf(packet.topic)
    // Bounded: three topics per device, whoever asks.
    if (place === undefined || !(isRetainable(place.suffix) || place.suffix === DESIRED)) return
    const topics = this.#retained.get(place.deviceId) ?? new Map<string, RetainedPacket>()
    if (packet.payload.length === 0) topics.delete(place.suffix)
    else topics.set(place.suffix, { ...packet, cmd: 'publish', retain: true })
    if (topics.size === 0) this.#retained.delete(place.deviceId)
    else this.#retained.set(place.deviceId, topics)
  }

  createRetainedStreamCombi(filters: readonly string[]): Readable {
    const found: RetainedPacket[] = []
    for (const filter of filters) {
      const place = placeOf(filter)
      const topics = place && this.#retained.get(place.deviceId)
      if (place === undefined || topics === undefined) continue
      for (const [suffix, packet] of topics) if (isMatch(place.suffix, suffix)) found.push(packet)
    }
    return Readable.from(found)
  }

  /** Granted filters are kept by the authorisation hook: aedes would also store the denied ones. */
  async addSubscriptions(): Promise<void> {}
  async removeSubscriptions(): Promise<void> {}
  async cleanSubscriptions(): Promise<void> {}

  async subscriptionsByClient(client: ClientRef): Promise<readonly { topic: string; qos: Qos }[]> {
    const filters = this.#stateOf(client)?.filters.entries() ?? []
    return [...filters].map(([filter, qos]) => ({ topic: `${TOPIC_ROOT}/${client.id}/${filter}`, qos }))
  }

  /** Asked for every QoS 1 and 2 message: who must get it even when away. */
  async subscriptionsByTopic(
    topic: string,
  ): Promise<readonly { clientId: string; topic: string; qos: Qos }[]> {
    const place = placeOf(topic)
    const granted = place && this.#states.get(place.deviceId)?.filters.qosFor(place.suffix)
    return place === undefined || granted === undefined || granted < 1
      ? []
      : [{ clientId: place.deviceId, topic, qos: granted as Qos }]
  }

  async outgoingEnqueue(subscription: { clientId: string; qos?: Qos }, packet: StoredPacket): Promise<void> {
    const qos = subscription.qos === 1 ? 1 : packet.qos
    this.#stateOf({ id: subscription.clientId })?.queue.add({ ...packet, qos })
  }

  async outgoingEnqueueCombi(
    subscriptions: readonly { clientId: string; qos: Qos }[],
    packet: StoredPacket,
  ): Promise<void> {
    for (const subscription of subscriptions) await this.outgoingEnqueue(subscription, packet)
  }

  /** Never refuses: a message the bounds dropped is sent all the same, and aedes would cut the device. */
  async outgoingUpdate(client: ClientRef, packet: PacketRef): Promise<void> {
    const queue = this.#stateOf(client)?.queue
    if (queue === undefined || packet.messageId === undefined) return
    if (packet.cmd === 'pubrel') queue.release(packet.messageId)
    else if (packet.brokerCounter !== undefined) queue.sent(packet.brokerCounter, packet.messageId)
  }

  async outgoingClearMessageId(client: ClientRef, packet: PacketRef): Promise<void> {
    if (packet.messageId !== undefined) this.#stateOf(client)?.queue.remove(packet.messageId)
  }

  outgoingStream(client: ClientRef): Readable {
    return Readable.from((this.#stateOf(client)?.replay() ?? []).map(toReplay))
  }

  // The guard takes QoS 2 messages and last wills itself; aedes never sees one.
  async incomingStorePacket(): Promise<void> {}
  async incomingGetPacket(): Promise<never> {
    throw new Error('no such packet')
  }
  async incomingDelPacket(): Promise<void> {}
  async cleanIncoming(): Promise<void> {}
  async putWill(): Promise<void> {}
  async getWill(): Promise<undefined> {}
  async delWill(): Promise<undefined> {}
  streamWill(): Readable {
    return Readable.from([])
  }
  async destroy(): Promise<void> {}

  #stateOf(client: ClientRef) {
    const deviceId = parseDeviceId(client.id)
    return deviceId === undefined ? undefined : this.#states.get(deviceId)
  }
}

function toReplay({ packet, messageId, isSent, isReleased }: Waiting): object {
  if (isReleased) return { cmd: 'pubrel', messageId }
  return { ...packet, cmd: 'publish', messageId, dup: isSent }
}

function placeOf(topic: string): { readonly deviceId: DeviceId; readonly suffix: string } | undefined {
  const deviceId = topic.startsWith(`${TOPIC_ROOT}/`) ? parseDeviceId(topic.split('/', 2)[1]) : undefined
  const suffix = deviceId === undefined ? undefined : suffixOf(deviceId, topic)
  return deviceId === undefined || suffix === undefined ? undefined : { deviceId, suffix }
}
