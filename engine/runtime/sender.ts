// Sends messages to devices once the records they follow from are saved (R4), at most once. A message that is lost here
// is still due in the record, so it is sent again later (R5).
import type { DeviceId } from '../../schemas/ids.ts'
import { toSubSuffix } from '../../schemas/topics.ts'
import { partitionOf } from '../domain/partition.ts'
import type { Broker } from '../ports/broker.ts'
import type { Ingest } from './ingress/ingest.ts'
import type { OtaMessages } from './ota/ota-messages.ts'
import { packDelivered } from './shard/control-uplinks.ts'
import type { OtaOutbound, Outbound, Proposal } from './shard/protocol.ts'

/** Whether this node may speak for the device at this moment. */
export type MayAct = (deviceId: DeviceId) => boolean

export class Sender {
  readonly #broker: Broker
  readonly #ingest: Ingest
  readonly #otaMessages: OtaMessages
  readonly #failed: (error: unknown) => void

  constructor(broker: Broker, ingest: Ingest, otaMessages: OtaMessages, failed: (error: unknown) => void) {
    this.#broker = broker
    this.#ingest = ingest
    this.#otaMessages = otaMessages
    this.#failed = failed
  }

  send({ outbound, ota, cuts }: Pick<Proposal, 'outbound' | 'ota' | 'cuts'>, mayAct: MayAct): void {
    // A device that this batch decommissions gets no more messages.
    const decommissioned = new Set(cuts)
    const isDue = ({ deviceId, via }: Pick<Outbound, 'deviceId' | 'via'>) =>
      !decommissioned.has(via ?? deviceId) && !decommissioned.has(deviceId) && mayAct(deviceId)
    for (const each of outbound)
      if (isDue(each)) void this.#publish(each).catch((error) => this.#failed(error))
    for (const each of ota) if (isDue(each)) void this.#publishOta(each).catch((error) => this.#failed(error))
  }

  /** The message is created here, so that its link and signature are as fresh as possible. */
  async #publishOta({ deviceId, via, send }: OtaOutbound): Promise<void> {
    const message = this.#otaMessages.messageOf(deviceId, send)
    if (message === undefined || this.#ingest.now() >= message.expiresAt) return
    const isTaken = await this.#broker.publish(
      via === undefined
        ? { ...message, deviceId }
        : { ...message, deviceId: via, suffix: toSubSuffix(deviceId, message.suffix) },
    )
    if (!isTaken) return
    const { deploymentId } = send
    this.#ingest.delivered(deviceId, partitionOf(deviceId), packDelivered({ deploymentId }))
  }

  async #publish({ deviceId, via, message, confirms }: Outbound): Promise<void> {
    // The save may have taken a while. A command that has expired meanwhile is not sent.
    if (confirms !== undefined && this.#ingest.now() >= confirms.expiresAt) return
    const toOwn = (suffix: string) => (via === undefined ? suffix : toSubSuffix(deviceId, suffix))
    const isTaken = await this.#broker.publish({
      ...message,
      deviceId: via ?? deviceId,
      suffix: toOwn(message.suffix),
      ...(confirms && {
        expiresAt: confirms.expiresAt,
        request: { suffix: toOwn('command/ack'), correlation: confirms.commandId },
      }),
    })
    if (!isTaken || confirms === undefined) return
    const { commandId, message: kind } = confirms
    // The delivery goes through the log, like everything a device does, so that a replay sees it.
    this.#ingest.delivered(deviceId, partitionOf(deviceId), packDelivered({ commandId, message: kind }))
  }
}
