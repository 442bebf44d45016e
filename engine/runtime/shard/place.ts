import type { Entry } from '../../ports/log.ts'

/** Entries of one bundle number their messages below this. */
const MESSAGES_PER_ENTRY_MAX = 65_536

/** Where in the log an item lies, and whether its records are still to be made (S1). */
export interface Place {
  readonly entry: Entry
  readonly index: number
  readonly isNew: boolean
  /** This incarnation has not seen it: its vitals are still to be made. */
  readonly isFirst: boolean
}

/** A message's place in the log as one number, the same in every replay. */
export function placeOf({ entry, index }: Place): number {
  return entry.seq * MESSAGES_PER_ENTRY_MAX + index
}
