// The latest values of chosen metrics on many devices, as columns.
import type { DeviceId } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'

/** `values[m][i]` is the value of metric `m` on device `i`, or null if there is none. `at[m][i]` is its time in
 *  milliseconds, or 0. */
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
