// Dead letters that somebody replays. Each counts once (R1). A letter is removed only after its message is in the log, so
// a crash in between, or two people at once, may bring it a second time.
//
// Y1. The device's record remembers the letters it took. They are saved together with their effects.
// - It also remembers their places in the log, so that the message that counted is known when it is read again for rows.
// - It forgets the oldest ones. It remembers far more letters than are ever replayed before they are removed.
import { FLAG_REPLAY, type Item } from '../../domain/bundle.ts'
import { LIMITS } from '../../limits.ts'
import type { Actor } from './actor.ts'
import type { Batch } from './batch.ts'
import { type Incoming, placeOf } from './incoming.ts'

export const isReplay = ({ flags }: Item): boolean => (flags & FLAG_REPLAY) !== 0

/** Whether the device has taken the letter before. Notes the letter if not. */
export function isReplayedAgain(actor: Actor, incoming: Incoming, { open, decisions }: Batch): boolean {
  const device = decisions.deviceOf(actor)
  const { replayed = [] } = device
  const { buffer, byteOffset, length } = incoming.item.origin
  const letter = Buffer.from(buffer, byteOffset, length).toString('base64url')
  const place = placeOf(incoming)
  const known = replayed.find((each) => each.letter === letter)
  if (known !== undefined) return known.place < place
  if (incoming.isNew) {
    const kept = [...replayed, { letter, place }].slice(-LIMITS.replaysKeptMax)
    open.devices.set(device.id, { ...device, replayed: kept })
  }
  return false
}
