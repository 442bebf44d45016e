// Whose change a leaf has: the newest one of those that touch it.
import type { JsonObject } from '../../../../schemas/json.ts'
import { overlaps, type Path } from './leaves.ts'
import { editsOf } from './merge.ts'

export interface Actor {
  readonly type: 'user' | 'device' | 'system' | 'ota'
  readonly id: string
}

/** An entry of the shadow's history. */
export interface Change {
  readonly version: number
  readonly actor: Actor
  readonly patch: JsonObject
}

export function authorOf(path: Path, changes: readonly Change[]): Change | undefined {
  return changes
    .filter(({ patch }) => editsOf(patch).some((edit) => overlaps(edit.path, path)))
    .reduce<Change | undefined>((newest, change) => {
      return newest === undefined || change.version > newest.version ? change : newest
    }, undefined)
}
