// A shadow as it was at an earlier version: the current one with its changes undone, newest first.
import type { JsonObject } from '../../../schemas/json.ts'
import { merge } from './merge.ts'
import type { Section } from './record.ts'

export interface PastState {
  readonly version: number
  readonly desired: JsonObject
  readonly reported: JsonObject
}

/** The state before a change. `change` must be the one that produced `state`: both have the same version. */
export function stepBack(
  state: PastState,
  change: { readonly section: Section; readonly previous: JsonObject },
): PastState {
  const { section, previous } = change
  return { ...state, version: state.version - 1, [section]: merge(state[section], previous) }
}
