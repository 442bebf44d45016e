// What comes through a gateway, on the side of the sub-device: its own actor judges whether that gateway may speak for it.
import { Micros, toMillis } from '../../../schemas/ids.ts'
import { ITEM, type Item } from '../../domain/bundle.ts'
import { refuseGateway } from '../../domain/device/sub-device.ts'
import type { Actor } from './actor.ts'
import type { Batch } from './batch.ts'
import type { Place } from './place.ts'
import { viaOf } from './proposal.ts'

/** False for what has no effect on the device. A message is then a dead letter of the gateway. */
export function mayBeSaid(actor: Actor | undefined, item: Item, place: Place, batch: Batch): boolean {
  const gateway = viaOf(item)
  // The end of a session is true of any device.
  if (gateway === undefined || item.kind === ITEM.closed) return true
  const device = actor && batch.decisions.deviceOf(actor)
  const refusal = refuseGateway(device, gateway, toMillis(Micros(item.receivedAt)))
  if (refusal === undefined) return true
  if (item.kind !== ITEM.message) return false
  batch.counts.refused++
  batch.open.parkSender(item, place, gateway, refusal)
  return false
}
