// Performs the effects of a batch once it is saved: send, tell, and only then acknowledge (R4). Of a large batch the sender
// sends the rest a few turns of the event loop later.
//
// - The store refuses saves of a stale owner, but nothing stops such an owner from talking to devices and listeners. So
//   the lease is checked before each message, cut and frame. What is held back is said by the next owner, whose shard
//   looks through its devices for it, or by this node if its lease is renewed before there is another owner. Replies are
//   always given, because they report what was saved.

import type { DeviceId } from '../../schemas/ids.ts'
import { messageRefused } from '../domain/audit/device-refusals.ts'
import type { AuditEntry } from '../domain/audit/entry.ts'
import { newPackr } from '../domain/packing.ts'
import type { Broker } from '../ports/broker.ts'
import type { FeedEvent } from '../ports/feed.ts'
import type { Mesh } from '../ports/mesh.ts'
import { auditEvents, deadLetterEvents } from './audit-events.ts'
import type { CommandWaits } from './command-waits.ts'
import type { ErrorPublisher } from './error-publisher.ts'
import type { Gateways } from './ingress/gateways.ts'
import type { Replies } from './replies.ts'
import type { HistoryWriter } from './rows/history-writer.ts'
import type { MayAct, Sender } from './sender.ts'
import type { Proposal, Reply } from './shard/protocol.ts'

export interface PerformerPorts {
  readonly broker: Pick<Broker, 'cut' | 'free' | 'end'>
  readonly gateways: Gateways
  readonly history: HistoryWriter
  readonly sender: Sender
  readonly errors: Pick<ErrorPublisher, 'publishFor'>
  readonly feed: { publish(events: readonly FeedEvent[]): void }
  readonly waits: CommandWaits
  readonly replies: Replies
  readonly recordRefusal: (entry: AuditEntry) => void
  readonly mesh: Mesh | undefined
}

const CUTS_TOPIC = 'cuts'
const packr = newPackr()
/** Separates the node's address from the rest of a request id. No address contains it. */
const NODE_SEPARATOR = '~'

export class Performer {
  readonly #ports: PerformerPorts
  readonly #stops: readonly (() => void)[]

  constructor(ports: PerformerPorts) {
    this.#ports = ports
    const { mesh, gateways, replies } = ports
    this.#stops =
      mesh === undefined
        ? []
        : [
            // Packed by `#cut` and `#reply` of another node.
            mesh.subscribe(CUTS_TOPIC, (message) => {
              for (const deviceId of packr.unpack(message) as readonly DeviceId[]) gateways.forget(deviceId)
            }),
            mesh.subscribe(
              replyTopic(mesh.address),
              (message) => void replies.settle(packr.unpack(message) as Reply),
            ),
          ]
  }

  perform(proposal: Proposal, mayAct: MayAct): void {
    const { broker, history, recordRefusal, sender, feed, waits, errors } = this.#ports
    if (proposal.history.length > 0) history.poke()
    for (const letter of proposal.deadLetters) recordRefusal(messageRefused(letter))
    errors.publishFor(proposal.deadLetters, mayAct)
    const { cuts, removed, ended } = proposal
    // A device gets nothing after its cut.
    if (cuts.length > 0 || removed.length > 0 || ended.length > 0) sender.flush()
    this.#cut(cuts.filter(mayAct))
    for (const deviceId of removed.filter(mayAct)) void broker.free(deviceId)
    for (const deviceId of ended.filter(mayAct)) broker.end(deviceId)
    sender.send(proposal, mayAct)
    const events = [
      ...proposal.feed,
      ...auditEvents(proposal.history),
      ...deadLetterEvents(proposal.deadLetters),
    ]
    feed.publish(events.filter((event) => mayAct(deviceOf(event))))
    waits.settle(proposal.feed)
    for (const reply of proposal.replies) this.#reply(reply)
  }

  /** Marks a request id so that the reply comes back to this node, whichever node applies the request. */
  requestId(id: string): string {
    const { mesh } = this.#ports
    return mesh === undefined ? id : `${mesh.address}${NODE_SEPARATOR}${id}`
  }

  close(): void {
    for (const stop of this.#stops) stop()
  }

  #cut(deviceIds: readonly DeviceId[]): void {
    const { broker, gateways, mesh } = this.#ports
    for (const deviceId of deviceIds) {
      broker.cut(deviceId, 'revoked')
      gateways.forget(deviceId)
    }
    if (deviceIds.length > 0) mesh?.publish(CUTS_TOPIC, packr.pack(deviceIds))
  }

  /** The request may have come from another node, because its partition may have moved since. */
  #reply(reply: Reply): void {
    const { replies, mesh } = this.#ports
    if (replies.settle(reply) || mesh === undefined) return
    const address = reply.requestId.split(NODE_SEPARATOR, 1)[0] ?? ''
    if (reply.requestId.includes(NODE_SEPARATOR) && address !== mesh.address)
      mesh.publish(replyTopic(address), packr.pack(reply))
  }
}

function deviceOf(event: FeedEvent): DeviceId {
  return event.kind === 'device' ? event.view.device.id : event.deviceId
}

function replyTopic(address: string): string {
  return `replies.${address}`
}
