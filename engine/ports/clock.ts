// Time as an argument: the domain never reads the clock, and tests control it.
import type { Millis } from '../../schemas/ids.ts'

export interface Clock {
  now(): Millis
  /** Monotonic milliseconds, for durations and leases; unrelated to the wall clock. */
  ticks(): number
}
