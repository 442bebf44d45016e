// Leaves under one key folded into a row of their own, so that a large shadow can be overlooked.
import type { ShadowRow } from '../../../shadow-merge/rows.ts'

export interface RowGroup {
  /** Undefined for leaves that stand alone. */
  readonly key: string | undefined
  readonly rows: readonly ShadowRow[]
  /** Leaves that the device has not taken over. */
  readonly waitingCount: number
}

/** Groups of at least two leaves under the same first key, in the order of their first rows. */
export function groupRows(rows: readonly ShadowRow[]): readonly RowGroup[] {
  const below = new Map<string, ShadowRow[]>()
  for (const row of rows) {
    const [key = ''] = row.path
    const others = below.get(key)
    if (others === undefined) below.set(key, [row])
    else others.push(row)
  }
  return [...below].map(([key, members]) => ({
    key: members.length > 1 ? key : undefined,
    rows: members,
    waitingCount: members.filter(({ state }) => state === 'waiting' || state === 'only-desired').length,
  }))
}
