// The tree of groups with the devices in each subtree.
import { type FleetColumns, STATUS } from './columns.ts'

export interface GroupCount {
  readonly path: string
  /** Devices of the group and of those below it. */
  readonly count: number
}

/** Ordered by path; groups above others are among them even if they have no devices of their own. */
export function groupCounts(columns: FleetColumns): readonly GroupCount[] {
  const own = new Map<string, number>()
  for (let row = 0; row < columns.rowsCount; row++) {
    if (columns.isAlive[row] === 0 || columns.status[row] === STATUS.decommissioned) continue
    const path = columns.groups.at(columns.group[row] ?? 0)
    if (path !== undefined && path !== '') own.set(path, (own.get(path) ?? 0) + 1)
  }
  const counts = new Map<string, number>()
  for (const [path, count] of own) {
    const levels = path.split('/')
    for (let depth = 1; depth <= levels.length; depth++) {
      const above = levels.slice(0, depth).join('/')
      counts.set(above, (counts.get(above) ?? 0) + count)
    }
  }
  return [...counts].map(([path, count]) => ({ path, count })).sort((a, b) => (a.path < b.path ? -1 : 1))
}
