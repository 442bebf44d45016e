import { type Millis, toMillis } from '../../../schemas/ids.ts'
import type { Item } from '../../domain/bundle.ts'
import type { DeviceRecord } from '../../domain/device/record.ts'
import type { Entry } from '../../ports/log.ts'

/** Messages are numbered below this within their entry. */
const MESSAGES_PER_ENTRY_MAX = 65_536

/** One item of a bundle and its place in the log. Reused for every item of an entry, so no step may keep it. */
export interface Incoming {
  item: Item
  readonly entry: Entry
  /** Number of the item within its entry. */
  index: number
  /** Whether the item is above the applied position, so that it still has to change records (shard S1). */
  readonly isNew: boolean
  /** Whether this incarnation reads the item for the first time, so that it still has to change vitals. */
  readonly isFirst: boolean
}

/** Returns an item's place in the log as one number. Every replay yields the same number. */
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

/** Whether the item was sent before the device was registered, perhaps by an earlier device with this id. It must precede
 *  the registration both by time and by place. Times alone would not do: if the clocks of nodes differ or a clock was set
 *  back, a device's first messages may seem older than its registration. Places alone would not do: a log that began again
 *  counts from the start. Records of earlier versions have no place. */
export function isBeforeRegistration(
  incoming: Incoming,
  { createdAt, registrationPlace }: DeviceRecord,
): boolean {
  const at = timeOf(incoming)
  if (registrationPlace === undefined) return at < createdAt
  return at <= createdAt && placeOf(incoming) < registrationPlace
}
