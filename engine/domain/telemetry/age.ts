// The age of a value decides which of two values of a field is the newer one.
import type { FieldValue } from './fields.ts'

/** Ordered by event time, then by message. */
export interface Age {
  readonly at: number
  readonly version: number
}

export interface LatestField extends Age {
  readonly path: string
  readonly value: FieldValue
}

/** True if a value of this age replaces one of that age. An equal age replaces, because a message may repeat a
 *  field. */
export function isNewer(age: Age, than: Age): boolean {
  return age.at > than.at || (age.at === than.at && age.version >= than.version)
}
