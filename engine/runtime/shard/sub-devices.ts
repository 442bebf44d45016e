// Messages through a gateway, seen by the sub-device: its own actor judges whether that gateway may speak for it.
import { ITEM } from '../../domain/bundle.ts'
import { refuseGateway } from '../../domain/device/sub-device.ts'
import type { Actor } from './actor.ts'
import type { Batch } from './batch.ts'
import { viaOf } from './dead-letters.ts'
import { type Incoming, timeOf } from './incoming.ts'

/** False if the item must not affect the device. If it is a message, it becomes a dead letter of the gateway. */
export function isAllowedSender(actor: Actor | undefined, incoming: Incoming, batch: Batch): boolean {
  const gateway = viaOf(incoming.item)
  // The end of a session may be reported for any device.
  if (gateway === undefined || incoming.item.kind === ITEM.closed) return true
  const device = actor && batch.decisions.deviceOf(actor)
  const refusal = refuseGateway(device, gateway, timeOf(incoming))
  if (refusal === undefined) return true
  if (incoming.item.kind !== ITEM.message) return false
  batch.counts.refused++
  batch.open.parkSender(incoming, gateway, refusal)
  return false
}
