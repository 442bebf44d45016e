// The shadow of a device: what the cloud side wants, what the device says it is, and one version for both.
import type { Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { EMPTY } from './json-object.ts'
import { type LeafTimes, NO_TIMES } from './leaf-times.ts'

export const SECTIONS = ['desired', 'reported'] as const
export type Section = (typeof SECTIONS)[number]

/** Replaced as a whole on change; unchanged is the same reference (R7). No nulls outside of arrays. */
export interface Shadow {
  /** +1 per effective change of either side, never less (R8); 0 is a shadow nobody has written. */
  readonly version: number
  readonly desired: JsonObject
  readonly reported: JsonObject
  readonly desiredTimes: LeafTimes
  readonly reportedTimes: LeafTimes
  readonly updatedAt: Millis | undefined
}

export const NEW_SHADOW: Shadow = Object.freeze({
  version: 0,
  desired: EMPTY,
  reported: EMPTY,
  desiredTimes: NO_TIMES,
  reportedTimes: NO_TIMES,
  updatedAt: undefined,
})

/** Who wrote. */
export interface Author {
  readonly kind: 'user' | 'device' | 'system' | 'ota'
  readonly id: string
}

export function userAuthor(id: string): Author {
  return { kind: 'user', id }
}

/** An entry of the shadow's history. */
export interface ShadowChange {
  readonly version: number
  readonly at: Millis
  readonly section: Section
  readonly by: Author
  /** What took effect, as a merge patch: applied to the state before, it gives the state after. */
  readonly patch: JsonObject
  /** The old values of the touched keys: the merge patch that takes it back. */
  readonly previous: JsonObject
  readonly requestId: string | undefined
}
