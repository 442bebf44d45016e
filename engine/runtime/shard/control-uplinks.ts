// What a device says of its shadow and of its commands. All of it acts once: a message read again changes nothing.
import { Buffer } from 'node:buffer'
import { type CommandId, Micros, toMillis } from '../../../schemas/ids.ts'
import type { Item } from '../../domain/bundle.ts'
import { type AckMessage, readAck } from '../../domain/command/ack-message.ts'
import type { SendKind } from '../../domain/command/messages.ts'
import { newPackr } from '../../domain/packing.ts'
import { rejectedMessage } from '../../domain/shadow/messages.ts'
import { readReported } from '../../domain/shadow/reported-message.ts'
import type { Actor } from './actor.ts'
import type { Batch } from './batch.ts'
import type { Place } from './place.ts'

/** What a `delivered` item's payload holds. */
export interface DeliveredPayload {
  readonly commandId: CommandId
  readonly message: SendKind
}

const DESIRED = 'shadow/desired'
const packr = newPackr()

export function packDelivered(payload: DeliveredPayload): Uint8Array {
  return packr.pack(payload)
}

export function applyDelivered(actor: Actor, item: Item, place: Place, batch: Batch): void {
  // An acknowledgement is no publish.
  batch.open.wasSilent = true
  if (!place.isNew) return
  // Written by packDelivered.
  const { commandId, message } = packr.unpack(item.payload) as DeliveredPayload
  batch.decisions.decide(actor, { kind: 'delivered', commandId, message }, timeOf(item))
}

export function applyReport(actor: Actor, item: Item, place: Place, batch: Batch): void {
  if (!place.isNew) return
  const report = readReported(item.payload)
  if (report.kind === 'cleared') return
  const messageId = `dl_${place.entry.partition}_${place.entry.seq}_${place.index}`
  const now = timeOf(item)
  if (report.kind === 'reported') {
    const { patch, expectedVersion, clientToken } = report
    batch.counts.stored++
    batch.decisions.decide(actor, { kind: 'reported', patch, expectedVersion, clientToken, messageId }, now)
    return
  }
  batch.counts.refused++
  const device = batch.decisions.deviceOf(actor)
  const about = { deviceId: device.id, now, clientToken: undefined, messageId }
  const message = rejectedMessage(report, about)
  batch.decisions.follow(actor, device, { device, effects: [{ kind: 'publish', message }] }, now)
}

export function applyShadowGet(actor: Actor, item: Item, place: Place, batch: Batch): void {
  if (place.isNew) batch.decisions.decide(actor, { kind: 'shadow_wanted', what: 'document' }, timeOf(item))
}

/** On a topic of ours: it is not believed, and what is desired is said again. */
export function applyForged(actor: Actor, item: Item, place: Place, batch: Batch): void {
  batch.counts.ignored++
  const isDesired = Buffer.from(item.suffix).toString('utf8') === DESIRED
  if (isDesired && place.isNew)
    batch.decisions.decide(actor, { kind: 'shadow_wanted', what: 'desired' }, timeOf(item))
}

export function applyAck(actor: Actor, item: Item, place: Place, batch: Batch): void {
  acknowledge(actor, readAck(item.payload), item, place, batch)
}

export function acknowledge(actor: Actor, ack: AckMessage, item: Item, place: Place, batch: Batch): void {
  if (ack.kind === 'refused') {
    batch.counts.refused++
    batch.open.park(item, place, 'MALFORMED_ACK', ack.detail)
    return
  }
  if (!place.isNew) return
  const before = batch.decisions.deviceOf(actor)
  const after = batch.decisions.decide(actor, { kind: 'acked', ack }, timeOf(item))
  // Late, repeated, or of no command of this device.
  if (after === before) batch.counts.ignored++
  else batch.counts.stored++
}

function timeOf(item: Item) {
  return toMillis(Micros(item.receivedAt))
}
