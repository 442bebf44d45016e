// What aedes asks its persistence for, answered from our bounded session states and retained messages. Its own
// in-memory persistence bounds nothing and searches the retained messages of all devices at every subscription.
import { Readable } from 'node:stream'
import { parseDeviceId } from '../../../../schemas/ids.ts'
import { TOPIC_ROOT } from '../../../../schemas/topics.ts'
import { isLive } from '../../../ports/broker.ts'
import type { Qos } from '../filters.ts'
import { placeOf, type Retained } from './retained.ts'
import type { SessionStates, StoredPacket, Waiting } from './session-state.ts'

interface ClientRef {
  readonly id: string
}

interface PacketRef {
  readonly cmd?: string
  readonly messageId?: number | undefined
  readonly brokerCounter?: number
}

export class Persistence {
  readonly #states: SessionStates
  readonly #retained: Retained

  constructor(states: SessionStates, retained: Retained) {
    this.#states = states
    this.#retained = retained
  }

  /** aedes insists on an async function. */
  async setup(): Promise<void> {}

  async storeRetained(packet: StoredPacket): Promise<void> {
    this.#retained.store(packet)
  }

  createRetainedStreamCombi(filters: readonly string[]): Readable {
    return Readable.from(filters.flatMap((filter) => this.#retained.matching(filter)))
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
    if (place === undefined || isLive(place.suffix)) return []
    const granted = this.#states.get(place.deviceId)?.filters.qosFor(place.suffix)
    return granted === undefined || granted < 1
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
