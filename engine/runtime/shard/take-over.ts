// What the owner before may not have said any more. It may have died, or lost its lease, after a save and before its
// effects, and a broker outside keeps its sessions and retained messages over that (R5). A command is sent again from its
// record. This is for the rest: shadows that were just written, and devices that should have been cut off.
import type { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Actor } from './actor.ts'
import type { Batch } from './batch.ts'

/** Whether something about the device was decided so recently that the owner before may not have said it. */
export function isUnsaid({ device }: Actor, now: Millis): boolean {
  const since = now - LIMITS.takeOverMs
  if (device.status === 'decommissioned') return device.statusSince >= since
  // Also where nothing is lacking: the device may never have heard that what the broker retains for it is done.
  return (device.shadow.updatedAt ?? 0) >= since
}

export function sayAgain(actor: Actor, now: Millis, { decisions }: Batch): void {
  const device = decisions.deviceOf(actor)
  if (device.status !== 'decommissioned')
    decisions.decide(actor, { kind: 'shadow_wanted', what: 'desired' }, now)
  else decisions.follow(actor, device, { device, effects: [{ kind: 'cut' }] }, now)
}
