import type { DeviceId } from '../../../schemas/ids.ts'
import { type Actor, encodeVitals } from './actor.ts'

/** Takes the vitals that have changed since they were last taken. */
export function takeVitals(
  actors: Iterable<Actor>,
): readonly { readonly deviceId: DeviceId; readonly bytes: Uint8Array }[] {
  const vitals: { readonly deviceId: DeviceId; readonly bytes: Uint8Array }[] = []
  for (const actor of actors) {
    if (!actor.isDirty) continue
    actor.isDirty = false
    vitals.push({ deviceId: actor.device.id, bytes: encodeVitals(actor) })
  }
  return vitals
}
