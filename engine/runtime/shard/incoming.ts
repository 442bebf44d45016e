import { type Millis, toMillis } from '../../../schemas/ids.ts'
import type { Item } from '../../domain/bundle.ts'
import type { DeviceRecord } from '../../domain/device/record.ts'
import type { Entry } from '../../ports/log.ts'

/** Entries number their messages below this. */
const MESSAGES_PER_ENTRY_MAX = 65_536

/** One item of a bundle and its place in the log. It is reused for every item of an entry, so no step keeps it. */
export interface Incoming {
  item: Item
  readonly entry: Entry
  /** Number of the item within its entry. */
  index: number
  /** Whether the item is above the applied position, so that its records are still to be made (shard S1). */
  readonly isNew: boolean
  /** Whether this incarnation reads the item for the first time, so that its vitals are still to be made. */
  readonly isFirst: boolean
}

/** Returns an item's place in the log as one number, which is the same in every replay. */
export function placeOf({ entry, index }: Incoming): number {
  return entry.seq * MESSAGES_PER_ENTRY_MAX + index
}

/** The reverse of `placeOf`. */
export function positionOf(place: number): { readonly seq: number; readonly index: number } {
  return { seq: Math.floor(place / MESSAGES_PER_ENTRY_MAX), index: place % MESSAGES_PER_ENTRY_MAX }
}

/** Returns the time at which the item was received. */
export function timeOf({ item }: Incoming): Millis {
  return toMillis(item.receivedAt)
}

/** Whether the item was said before the device was registered, perhaps by one that had this id earlier. It came before the
 *  registration by its time and by its place: nodes whose clocks differ, or a clock that was set back, give a device's first
 *  messages times that are not behind its registration, and a log that began anew counts places from the start. Records of
 *  earlier versions have no place. */
export function isBeforeRegistration(
  incoming: Incoming,
  { createdAt, registrationPlace }: DeviceRecord,
): boolean {
  const at = timeOf(incoming)
  if (registrationPlace === undefined) return at < createdAt
  return at <= createdAt && placeOf(incoming) < registrationPlace
}
