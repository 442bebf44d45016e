// Dead letters that somebody replays. Each counts once (R1): a letter is removed after its message is in the log, so a
// crash in between, or two people at once, may bring it a second time.
//
// Y1. The device's record remembers which letters it took, saved with what they made of it.
// - It remembers their places in the log, too: a message that is read again for its rows is the one that counted.
// - It forgets the oldest. Far fewer letters are replayed before they are removed than it remembers.
import { FLAG_REPLAY, type Item } from '../../domain/bundle.ts'
import { LIMITS } from '../../limits.ts'
import type { Actor } from './actor.ts'
import type { Batch } from './batch.ts'
import { type Incoming, placeOf } from './incoming.ts'

export const isReplay = ({ flags }: Item): boolean => (flags & FLAG_REPLAY) !== 0

/** Whether the device has taken the letter before; if not, it has now. */
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
