// The latest values of chosen metrics on many devices, as columns.
import type { DeviceId } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'

/** `values[m][i]` is the value of metric m on device i, and null if there is none; `at` is its time in milliseconds, 0
 *  for none. */
export interface LatestValues {
  readonly id: DeviceId[]
  readonly values: Json[][]
  readonly at: number[][]
}

export function newLatestValues(metrics: number): LatestValues {
  return {
    id: [],
    values: Array.from({ length: metrics }, () => []),
    at: Array.from({ length: metrics }, () => []),
  }
}
