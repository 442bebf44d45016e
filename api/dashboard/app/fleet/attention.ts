// What needs a person, as cases and not as devices: each with how many devices it is about, since when, and the filter that
// shows them. Only what the index knows; alerts, rollouts and the like are cases of their own.

import { FLAG, type FleetColumns, STATUS } from './columns.ts'
import type { FilterContext } from './filter-rows.ts'

export interface AttentionCase {
  readonly kind: 'lost' | 'error' | 'flapping' | 'out-of-sync' | 'critical'
  readonly severity: 'critical' | 'warning' | 'info'
  /** The group it is about; empty for the fleet, or for devices without a group. */
  readonly group: string
  readonly count: number
  /** When the first of them got there, in milliseconds since 1970. */
  readonly at: number
  /** The device that was first. */
  readonly firstId: string
  /** The value of `?q=`. */
  readonly query: string
}

const LOST = { withinMs: 600_000, countMin: 5, shareMin: 0.05 } as const
const SETTLED_MS = 3_600_000

const RANK = { critical: 0, warning: 1, info: 2 } as const

/** Worst first, then the largest. */
export function attentionCases({ columns, nowMs }: FilterContext): readonly AttentionCase[] {
  const cases = [
    ...lostGroups(columns, nowMs),
    ...one(columns, 'error', { severity: 'critical', query: 'status:error' }, (row) => {
      return columns.status[row] === STATUS.error
    }),
    ...one(columns, 'critical', { severity: 'critical', query: 'alert:critical' }, (row) => {
      return has(columns, row, FLAG.critical)
    }),
    ...one(columns, 'flapping', { severity: 'warning', query: 'flapping:yes' }, (row) => {
      return has(columns, row, FLAG.flapping)
    }),
    ...one(columns, 'out-of-sync', { severity: 'info', query: 'sync:no status:online since:>1h' }, (row) => {
      const isSettled = nowMs - (columns.since[row] ?? 0) > SETTLED_MS
      return isSettled && columns.status[row] === STATUS.online && has(columns, row, FLAG.outOfSync)
    }),
  ]
  return cases.sort((a, b) => RANK[a.severity] - RANK[b.severity] || b.count - a.count)
}

const has = ({ flags }: FleetColumns, row: number, flag: number) => ((flags[row] ?? 0) & flag) !== 0

/** Groups of which many devices went away at once: one cause, not many devices. */
function lostGroups(columns: FleetColumns, nowMs: number): readonly AttentionCase[] {
  const { group, groups, status, since, ids, isAlive, rowsCount } = columns
  const sizes = new Uint32Array(groups.words.length)
  const lost = new Uint32Array(groups.words.length)
  const first = new Map<number, number>()
  for (let row = 0; row < rowsCount; row++) {
    if (isAlive[row] === 0 || status[row] === STATUS.decommissioned) continue
    const place = group[row] ?? 0
    sizes[place] = (sizes[place] ?? 0) + 1
    if (status[row] !== STATUS.offline || nowMs - (since[row] ?? 0) > LOST.withinMs) continue
    lost[place] = (lost[place] ?? 0) + 1
    const earliest = first.get(place)
    if (earliest === undefined || (since[row] ?? 0) < (since[earliest] ?? 0)) first.set(place, row)
  }
  return [...first].flatMap(([place, row]): readonly AttentionCase[] => {
    const count = lost[place] ?? 0
    // A share of a few devices says nothing: two of twenty are two devices.
    const isMany = count >= LOST.countMin || (count >= 2 && count >= LOST.shareMin * (sizes[place] ?? 0))
    if (!isMany) return []
    const name = groups.at(place)
    const where = name === '' ? '' : `group:=${name} `
    return [
      {
        kind: 'lost',
        severity: 'critical',
        group: name,
        count,
        at: since[row] ?? 0,
        firstId: ids[row] ?? '',
        query: `status:offline ${where}since:<10m`,
      },
    ]
  })
}

function one(
  columns: FleetColumns,
  kind: AttentionCase['kind'],
  told: Pick<AttentionCase, 'severity' | 'query'>,
  fits: (row: number) => boolean,
): readonly AttentionCase[] {
  let count = 0
  let first: number | undefined
  for (let row = 0; row < columns.rowsCount; row++) {
    if (columns.isAlive[row] === 0 || columns.status[row] === STATUS.decommissioned || !fits(row)) continue
    count += 1
    if (first === undefined || (columns.since[row] ?? 0) < (columns.since[first] ?? 0)) first = row
  }
  if (first === undefined) return []
  return [
    { ...told, kind, group: '', count, at: columns.since[first] ?? 0, firstId: columns.ids[first] ?? '' },
  ]
}
