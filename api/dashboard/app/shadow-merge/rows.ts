// The rows of the shadow's table: one for each leaf that either side has, with its state.
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { isSame, leavesOf, type Path, pathKey, valueAt } from './leaves.ts'

export type RowState = 'in-sync' | 'waiting' | 'only-reported' | 'only-desired'

export interface ShadowRow {
  readonly path: Path
  readonly desired: Json | undefined
  readonly reported: Json | undefined
  readonly state: RowState
}

export function shadowRows(desired: JsonObject, reported: JsonObject): readonly ShadowRow[] {
  const paths = new Map<string, Path>()
  for (const { path } of [...leavesOf(desired), ...leavesOf(reported)]) paths.set(pathKey(path), path)
  return [...paths.values()]
    .sort((a, b) => (a.join('\u0000') < b.join('\u0000') ? -1 : 1))
    .map((path) => {
      const wanted = valueAt(desired, path)
      const said = valueAt(reported, path)
      return { path, desired: wanted, reported: said, state: stateOf(wanted, said) }
    })
}

function stateOf(desired: Json | undefined, reported: Json | undefined): RowState {
  if (desired === undefined) return 'only-reported'
  if (reported === undefined) return 'only-desired'
  return isSame(desired, reported) ? 'in-sync' : 'waiting'
}
