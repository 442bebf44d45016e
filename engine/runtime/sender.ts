// Sends messages to devices once the records that they follow from are saved (R4), at most once: a message that is lost
// here is still due in the record, which leads to sending it again (R5).
import { toSubSuffix } from '../../schemas/topics.ts'
import { partitionOf } from '../domain/partition.ts'
import type { Broker } from '../ports/broker.ts'
import type { Ingest } from './ingress/ingest.ts'
import { packDelivered } from './shard/control-uplinks.ts'
import type { Outbound, Proposal } from './shard/protocol.ts'

export class Sender {
  readonly #broker: Broker
  readonly #ingest: Ingest
  readonly #failed: (error: unknown) => void

  constructor(broker: Broker, ingest: Ingest, failed: (error: unknown) => void) {
    this.#broker = broker
    this.#ingest = ingest
    this.#failed = failed
  }

  send({ outbound, cuts }: Pick<Proposal, 'outbound' | 'cuts'>): void {
    // A device that the same batch decommissions gets no more messages.
    const gone = new Set(cuts)
    for (const each of outbound)
      if (!gone.has(each.via ?? each.deviceId) && !gone.has(each.deviceId))
        void this.#publish(each).catch((error) => this.#failed(error))
  }

  async #publish({ deviceId, via, message, confirms }: Outbound): Promise<void> {
    // Saving may have taken a while: a command that has expired meanwhile is not sent.
    if (confirms !== undefined && this.#ingest.now() >= confirms.expiresAt) return
    const expiry = confirms && { expiresAt: confirms.expiresAt }
    const isTaken = await this.#broker.publish(
      via === undefined
        ? { ...message, ...expiry, deviceId }
        : { ...message, ...expiry, deviceId: via, suffix: toSubSuffix(deviceId, message.suffix) },
    )
    if (!isTaken || confirms === undefined) return
    const { commandId, message: kind } = confirms
    // The delivery goes through the log like everything a device does, so that a replay sees it, too.
    this.#ingest.delivered(deviceId, partitionOf(deviceId), packDelivered({ commandId, message: kind }))
  }
}
