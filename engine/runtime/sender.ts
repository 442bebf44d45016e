// Sends messages to devices once the records they follow from are saved (R4), at most once and in order. A message that is
// lost here is still due in the record, so it is sent again later (R5).
//
// A batch may hold a thousand messages, and signing and writing them takes longer than others should wait for their
// PUBACKs. So it is sent in parts, one in each turn of the event loop.
import type { DeviceId } from '../../schemas/ids.ts'
import { toSubSuffix } from '../../schemas/topics.ts'
import { partitionOf } from '../domain/partition.ts'
import type { Broker } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Schedule } from '../ports/schedule.ts'
import type { Ingest } from './ingress/ingest.ts'
import type { OtaMessages } from './ota/ota-messages.ts'
import { packDelivered } from './shard/control-uplinks.ts'
import type { OtaOutbound, Outbound, Proposal } from './shard/protocol.ts'

/** Whether this node may speak for the device at this moment. */
export type MayAct = (deviceId: DeviceId) => boolean

/** How long sending may hold up the event loop in one turn. */
const TURN_MS = 5

type Due =
  | { readonly kind: 'outbound'; readonly message: Outbound; readonly mayAct: MayAct }
  | { readonly kind: 'ota'; readonly message: OtaOutbound; readonly mayAct: MayAct }

export interface SenderPorts {
  readonly broker: Pick<Broker, 'publish'>
  readonly ingest: Pick<Ingest, 'now' | 'delivered'>
  readonly otaMessages: Pick<OtaMessages, 'messageOf'>
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'after'>
  readonly failed: (error: unknown) => void
}

export class Sender {
  readonly #ports: SenderPorts
  readonly #due: Due[] = []
  #isPlanned = false

  constructor(ports: SenderPorts) {
    this.#ports = ports
  }

  send({ outbound, ota, cuts }: Pick<Proposal, 'outbound' | 'ota' | 'cuts'>, mayAct: MayAct): void {
    // A device that this batch decommissions gets no more messages.
    const decommissioned = new Set(cuts)
    const isDue = ({ deviceId, via }: Pick<Outbound, 'deviceId' | 'via'>) =>
      !decommissioned.has(via ?? deviceId) && !decommissioned.has(deviceId)
    for (const message of outbound) if (isDue(message)) this.#due.push({ kind: 'outbound', message, mayAct })
    for (const message of ota) if (isDue(message)) this.#due.push({ kind: 'ota', message, mayAct })
    if (!this.#isPlanned) this.#sendSome()
  }

  /** Sends at once what is due. Called before something that must come after it. */
  flush(): void {
    for (const due of this.#due.splice(0)) this.#sendOne(due)
  }

  #sendSome(): void {
    const { clock, schedule } = this.#ports
    const until = clock.ticks() + TURN_MS
    let sent = 0
    for (const due of this.#due) {
      if (sent > 0 && clock.ticks() >= until) break
      this.#sendOne(due)
      sent++
    }
    this.#due.splice(0, sent)
    this.#isPlanned = this.#due.length > 0
    if (this.#isPlanned) schedule.after(0, () => this.#sendSome())
  }

  #sendOne({ kind, message, mayAct }: Due): void {
    if (!mayAct(message.deviceId)) return
    const sent = kind === 'ota' ? this.#publishOta(message) : this.#publish(message)
    sent.catch((error: unknown) => this.#ports.failed(error))
  }

  /** The message is created here, so that its link and signature are as fresh as possible. */
  async #publishOta({ deviceId, via, send }: OtaOutbound): Promise<void> {
    const message = this.#ports.otaMessages.messageOf(deviceId, send)
    if (message === undefined || this.#ports.ingest.now() >= message.expiresAt) return
    const isTaken = await this.#ports.broker.publish(
      via === undefined
        ? { ...message, deviceId }
        : { ...message, deviceId: via, suffix: toSubSuffix(deviceId, message.suffix) },
    )
    if (!isTaken) return
    const { deploymentId } = send
    this.#ports.ingest.delivered(deviceId, partitionOf(deviceId), packDelivered({ deploymentId }))
  }

  async #publish({ deviceId, via, message, confirms }: Outbound): Promise<void> {
    // The save may have taken a while. A command that has expired meanwhile is not sent.
    if (confirms !== undefined && this.#ports.ingest.now() >= confirms.expiresAt) return
    const toOwn = (suffix: string) => (via === undefined ? suffix : toSubSuffix(deviceId, suffix))
    const isTaken = await this.#ports.broker.publish({
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
    this.#ports.ingest.delivered(deviceId, partitionOf(deviceId), packDelivered({ commandId, message: kind }))
  }
}
