// How old a value is, and which of two values of a field stands.
import type { FieldValue } from './fields.ts'

/** Which of two values stands: the later event time, then the later message. */
export interface Age {
  readonly at: number
  readonly version: number
}

export interface LatestField extends Age {
  readonly path: string
  readonly value: FieldValue
}

/** True if a value of this age replaces one of that age; also at the same age, where a message repeats itself. */
export function isNewer(age: Age, than: Age): boolean {
  return age.at > than.at || (age.at === than.at && age.version >= than.version)
}
