// The shadow of a device: the state the cloud desires, the state the device reports, and one version for both.
import type { Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { EMPTY } from './json-object.ts'
import { type LeafTimes, NO_TIMES } from './leaf-times.ts'

export const SECTIONS = ['desired', 'reported'] as const
export type Section = (typeof SECTIONS)[number]

/** Replaced as a whole on change. The same reference means unchanged (R7). No nulls outside of arrays. */
export interface Shadow {
  /** Grows by one with every effective change of either side and never shrinks (R8). 0 means that nobody has written
   *  yet. */
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
  /** The change that took effect, as a merge patch from the state before to the state after. */
  readonly patch: JsonObject
  /** The old values of the changed keys: the merge patch that undoes the change. */
  readonly previous: JsonObject
  readonly requestId: string | undefined
}
