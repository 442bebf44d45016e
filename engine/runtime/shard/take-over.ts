// What a previous owner may not have sent, or this one while its lease had run out. An owner may die or lose its lease
// between a save and its effects, and a broker outside keeps its sessions and retained messages meanwhile (R5). Commands
// are sent again from their records. This covers the rest: shadows that were just written, devices that should have been
// cut off, and sessions whose tokens were revoked.
import type { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { type Actor, isVoid } from './actor.ts'
import type { Batch } from './batch.ts'

export class TakeOver {
  /** Devices to which something may not have been sent. */
  readonly #devices = new Set<Actor>()

  note(actor: Actor, now: Millis): void {
    if (mayBeUnsent(actor, now)) this.#devices.add(actor)
  }

  /** Sends to some of them at each sweep. */
  resend(now: Millis, batch: Batch): void {
    const { actors, decisions, open } = batch
    let left = LIMITS.takeOverPerSweep
    for (const actor of this.#devices) {
      if (left-- === 0) return
      this.#devices.delete(actor)
      const { id } = actor.device
      if (actors.get(id) !== actor || open.gone.has(id)) continue
      const device = decisions.deviceOf(actor)
      const follow = (kind: 'cut' | 'end_sessions') =>
        decisions.follow(actor, device, { device, effects: [{ kind }] }, now)
      if (device.status === 'decommissioned') {
        follow('cut')
        continue
      }
      if (isVoid(actor.session, device)) follow('end_sessions')
      // Sent even without a session, because the broker retains it for the sessions that follow.
      if (device.shadow.version > 0) decisions.decide(actor, { kind: 'shadow_wanted', part: 'desired' }, now)
    }
  }
}

/** Whether something about the device was decided so recently that the previous owner may not have sent it. */
function mayBeUnsent({ device, session }: Actor, now: Millis): boolean {
  if (isVoid(session, device)) return true
  const since = now - LIMITS.takeOverMs
  if (device.status === 'decommissioned') return device.statusSince >= since
  // Even if nothing is lacking: the device may not know that it has done what the broker retains for it.
  return (device.shadow.updatedAt ?? 0) >= since
}
