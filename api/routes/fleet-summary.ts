// Counts devices by shared properties.
import type { FleetRow } from '../../engine/domain/fleet/row.ts'
import { noCounts } from '../../engine/domain/fleet/selection.ts'
import type { FleetTable } from '../../engine/ports/fleet.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import type { FleetCountedBy } from '../../schemas/fleet.ts'

interface SummaryQuery {
  readonly by?: FleetCountedBy
  readonly depth?: number
}

export function countedBy(
  table: FleetTable,
  places: readonly number[],
  { by = 'status', depth }: SummaryQuery,
) {
  const keysOf = keysBy(by, depth)
  const counts = new Map<string | null, { total: number; readonly by_status: ReturnType<typeof noCounts> }>()
  for (const place of places) {
    const row = table.rows[place]
    if (row === undefined) continue
    for (const key of keysOf(row)) {
      const known = counts.get(key) ?? { total: 0, by_status: noCounts() }
      known.total++
      known.by_status[row.status]++
      counts.set(key, known)
    }
  }
  const data = [...counts]
    .map(([key, count]) => ({ key, ...count }))
    .sort((a, b) => b.total - a.total || ((a.key ?? '') < (b.key ?? '') ? -1 : 1))
  return { data: data.slice(0, BODY_LIMITS.fleetKeysMax), truncated: data.length > BODY_LIMITS.fleetKeysMax }
}

function keysBy(
  by: FleetCountedBy,
  depth: number | undefined,
): (row: FleetRow) => readonly (string | null)[] {
  switch (by) {
    case 'status':
      return ({ status }) => [status]
    case 'type':
      return ({ type }) => [type]
    case 'group':
      return ({ group }) => [group === undefined ? null : cutGroup(group, depth)]
    case 'firmware':
      return ({ firmware }) => [firmware ?? null]
    case 'tag':
      return ({ tags }) => (tags.length === 0 ? [null] : tags)
  }
}

function cutGroup(group: string, depth: number | undefined): string {
  return depth === undefined ? group : group.split('/', depth).join('/')
}
