// What the owner before may not have said any more, or this one while its lease had run out. An owner may die, or lose its
// lease, after a save and before its effects, and a broker outside keeps its sessions and retained messages over that (R5).
// A command is sent again from its record. This is for the rest: shadows that were just written, devices that should have
// been cut off, and sessions whose tokens were revoked.
import type { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { type Actor, isVoid } from './actor.ts'
import type { Batch } from './batch.ts'

export class TakeOver {
  /** Devices to which not all may have been said. */
  readonly #devices = new Set<Actor>()

  note(actor: Actor, now: Millis): void {
    if (isUnsaid(actor, now)) this.#devices.add(actor)
  }

  /** Speaks to some of them at each sweep. */
  sayAgain(now: Millis, batch: Batch): void {
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
      // What the broker retains is for the sessions that follow, too.
      if (device.shadow.version > 0) decisions.decide(actor, { kind: 'shadow_wanted', what: 'desired' }, now)
    }
  }
}

/** Whether something about the device was decided so recently that the owner before may not have said it. */
function isUnsaid({ device, session }: Actor, now: Millis): boolean {
  if (isVoid(session, device)) return true
  const since = now - LIMITS.takeOverMs
  if (device.status === 'decommissioned') return device.statusSince >= since
  // Also where nothing is lacking: the device may never have heard that what the broker retains for it is done.
  return (device.shadow.updatedAt ?? 0) >= since
}
