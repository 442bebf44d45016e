// A shadow as it was at an earlier version: the present one with its changes taken back, newest first.
import type { JsonObject } from '../../../schemas/json.ts'
import { merge } from './merge.ts'
import type { Section } from './record.ts'

export interface PastState {
  readonly version: number
  readonly desired: JsonObject
  readonly reported: JsonObject
}

/** The state before a change. `change` is the one that made `state` what it is: it has the same version. */
export function stepBack(
  state: PastState,
  change: { readonly section: Section; readonly previous: JsonObject },
): PastState {
  const { section, previous } = change
  return { ...state, version: state.version - 1, [section]: merge(state[section], previous) }
}
