// A device's messages about its shadow and its commands. Each of them acts once: a message read again changes nothing.
import { Buffer } from 'node:buffer'
import type { CommandId } from '../../../schemas/ids.ts'
import { type AckMessage, commandIdsIn, readAck } from '../../domain/command/ack-message.ts'
import { isCancelId, type SendKind } from '../../domain/command/messages.ts'
import type { DeviceEvent } from '../../domain/device/events.ts'
import type { Device } from '../../domain/device/record.ts'
import { newPackr } from '../../domain/packing.ts'
import { rejectedMessage } from '../../domain/shadow/messages.ts'
import { clientTokenOf, readReported } from '../../domain/shadow/reported-message.ts'
import type { Actor } from './actor.ts'
import type { Batch } from './batch.ts'
import { type Incoming, timeOf } from './incoming.ts'
import { answersJob } from './ota-uplinks.ts'

export type DeliveredPayload =
  | { readonly commandId: CommandId; readonly message: SendKind }
  /** A message about firmware. */
  | { readonly deploymentId: string }

interface Acknowledgement {
  readonly ack: AckMessage
  readonly incoming: Incoming
}

const DESIRED = 'shadow/desired'
const packr = newPackr()

export function packDelivered(payload: DeliveredPayload): Uint8Array {
  return packr.pack(payload)
}

export function applyDelivered(actor: Actor, incoming: Incoming, batch: Batch): void {
  // An acknowledgement does not count as a publish, so it is no sign of life.
  batch.open.isNoSignOfLife = true
  if (!incoming.isNew) return
  // Written by packDelivered.
  const payload = packr.unpack(incoming.item.payload) as DeliveredPayload
  const event: DeviceEvent =
    'deploymentId' in payload ? { kind: 'ota_delivered', ...payload } : { kind: 'delivered', ...payload }
  batch.decisions.decide(actor, event, timeOf(incoming))
}

export function applyReport(actor: Actor, incoming: Incoming, batch: Batch): void {
  if (!incoming.isNew) return
  const report = readReported(incoming.item.payload)
  if (report.kind === 'cleared') return
  const messageId = `dl_${incoming.entry.partition}_${incoming.entry.seq}_${incoming.index}`
  const now = timeOf(incoming)
  if (report.kind === 'reported') {
    const { patch, expectedVersion, clientToken } = report
    batch.counts.stored++
    batch.decisions.decide(actor, { kind: 'reported', patch, expectedVersion, clientToken, messageId }, now)
    return
  }
  batch.counts.refused++
  batch.open.park(incoming, 'MALFORMED_REPORT', String(report.detail['message']))
  const device = batch.decisions.deviceOf(actor)
  const about = { deviceId: device.id, now, clientToken: undefined, messageId }
  const message = rejectedMessage(report, about)
  batch.decisions.follow(actor, device, { device, effects: [{ kind: 'publish', message }] }, now)
}

export function applyShadowGet(actor: Actor, incoming: Incoming, batch: Batch): void {
  if (!incoming.isNew) return
  const clientToken = clientTokenOf(incoming.item.payload)
  batch.decisions.decide(actor, { kind: 'shadow_wanted', part: 'document', clientToken }, timeOf(incoming))
}

/** A device published on a topic that only the service may use. The message is ignored and `desired` is sent again. */
export function applyForged(actor: Actor, incoming: Incoming, batch: Batch): void {
  batch.counts.ignored++
  const isDesired = Buffer.from(incoming.item.suffix).toString('utf8') === DESIRED
  if (isDesired && incoming.isNew)
    batch.decisions.decide(actor, { kind: 'shadow_wanted', part: 'desired' }, timeOf(incoming))
}

export function applyAck(actor: Actor, incoming: Incoming, batch: Batch): void {
  acknowledge(actor, { ack: readAck(incoming.item.payload), incoming }, batch)
}

/** Applies an acknowledgement, which arrives on its own topic or within telemetry. */
export function acknowledge(actor: Actor, { ack, incoming }: Acknowledgement, batch: Batch): void {
  if (ack.kind === 'refused') {
    batch.counts.refused++
    batch.open.park(incoming, 'MALFORMED_ACK', ack.detail)
    if (!incoming.isNew) return
    const ids = commandIdsIn(incoming.item.payload)
    if (ids.size > 0)
      batch.decisions.decide(actor, { kind: 'acked_unreadably', ids, detail: ack.detail }, timeOf(incoming))
    return
  }
  if (!incoming.isNew) return
  if (answersJob(actor, ack, incoming, batch)) return
  const before = batch.decisions.deviceOf(actor)
  const after = batch.decisions.decide(actor, { kind: 'acked', ack }, timeOf(incoming))
  if (after !== before) batch.counts.stored++
  else if (isKnown(before, ack.requestId)) batch.counts.ignored++
  else {
    batch.counts.refused++
    batch.open.park(
      incoming,
      'UNKNOWN_COMMAND',
      `the device has no command with the request_id ${ack.requestId}`,
    )
  }
}

/** Whether an answer without effect is expected: answers may come late or twice, and may be to a cancel notice. */
function isKnown({ commands }: Device, requestId: string): boolean {
  return isCancelId(requestId) || commands.some(({ id }) => id === requestId)
}
