// Sorting of rows. Each row gets a number to sort by; number and row are packed into one, and the browser sorts plain
// numbers several times faster than it calls a comparison.
import { DEVICE_STATUSES } from '../../../../schemas/vocabulary.ts'
import { FLAG, type FleetColumns, STATUS } from './columns.ts'
import type { MetricColumns } from './filter-rows.ts'
import { naturalKey, ranksOf } from './natural-order.ts'

export interface Sorting {
  /** `attention`, a column of the list, or a metric that is loaded. */
  readonly by: string
  readonly isDescending: boolean
}

const ROW_BITS = 2 ** 18
/** The greatest key with which key and row together are an exact number. */
const KEY_MAX = 2 ** 35 - 1

/** The key of a row that has nothing to sort by: it is last in both directions. */
const NONE = Number.POSITIVE_INFINITY

/** Worst first. */
const SEVERITY: Readonly<Record<number, number>> = {
  [STATUS.error]: 0,
  [STATUS.offline]: 1,
  [STATUS.maintenance]: 3,
  [STATUS.provisioning]: 4,
  [STATUS.online]: 5,
  [STATUS.decommissioned]: 6,
}

/** Ranks of names and ids, made once and again when a device comes, goes or is renamed. */
export class RankCache {
  #version = -1
  #names: Uint32Array | undefined
  #ids: Uint32Array | undefined

  names(columns: FleetColumns): Uint32Array {
    this.#check(columns)
    this.#names ??= ranksOf(columns.names, columns.isAlive)
    return this.#names
  }

  ids(columns: FleetColumns): Uint32Array {
    this.#check(columns)
    this.#ids ??= ranksOf(columns.ids, columns.isAlive)
    return this.#ids
  }

  #check({ namesVersion }: FleetColumns): void {
    if (this.#version === namesVersion) return
    this.#version = namesVersion
    this.#names = undefined
    this.#ids = undefined
  }
}

export interface SortContext {
  readonly columns: FleetColumns
  readonly ranks: RankCache
  readonly metrics?: MetricColumns
}

/** Rows with equal values are ordered by id. */
export function sortRows(
  rows: Uint32Array,
  { by, isDescending }: Sorting,
  context: SortContext,
): Uint32Array {
  const { columns, ranks } = context
  const byId = ranks.ids(columns)
  const order = Uint32Array.from(rows)
  // The sort is stable only by what is packed, so the row's rank is packed and led back to the row.
  const rowOfRank = new Uint32Array(columns.rowsCount + 1)
  for (const row of order) rowOfRank[byId[row] ?? 0] = row
  const keyOf = keysOf(by, context)
  const packed = new Float64Array(order.length)
  order.forEach((row, i) => {
    packed[i] = packedKey(keyOf(row), isDescending) * ROW_BITS + (byId[row] ?? 0)
  })
  packed.sort()
  packed.forEach((value, i) => {
    order[i] = rowOfRank[value % ROW_BITS] ?? 0
  })
  return order
}

function packedKey(key: number, isDescending: boolean): number {
  if (key === NONE) return KEY_MAX
  const whole = Math.min(KEY_MAX - 1, Math.max(0, Math.floor(key)))
  return isDescending ? KEY_MAX - 1 - whole : whole
}

function keysOf(by: string, { columns, ranks, metrics }: SortContext): (row: number) => number {
  const { status, flags, seen, since } = columns
  const flagOf = (row: number, flag: number) => ((flags[row] ?? 0) & flag) !== 0
  switch (by) {
    case 'name': {
      const byName = ranks.names(columns)
      return (row) => byName[row] ?? 0
    }
    case 'id': {
      const byId = ranks.ids(columns)
      return (row) => byId[row] ?? 0
    }
    case 'status':
      return (row) => SEVERITY[status[row] ?? 0] ?? 0
    case 'attention':
      return (row) => severityAt(columns, row)
    case 'group':
      return wordKeys(columns.group, columns.groups.words)
    case 'type':
      return wordKeys(columns.type, columns.types.words)
    case 'firmware':
      return wordKeys(columns.firmware, columns.firmwares.words)
    case 'seen':
      return secondsBefore(seen)
    case 'since':
      return secondsBefore(since)
    case 'alert':
      return (row) => (flagOf(row, FLAG.critical) ? 0 : flagOf(row, FLAG.warning) ? 1 : 2)
    case 'sync':
      return (row) => (flagOf(row, FLAG.outOfSync) ? 0 : 1)
    default:
      return metricKeys(metrics?.[by])
  }
}

/** What needs a person comes first: broken, gone, alerting, flapping, then the rest by status. */
export function severityAt({ status, flags }: FleetColumns, row: number): number {
  const bits = flags[row] ?? 0
  const at = SEVERITY[status[row] ?? 0] ?? 0
  if (at >= 2 && at < 6 && (bits & (FLAG.critical | FLAG.warning | FLAG.flapping)) !== 0) return 2
  return at
}

/** Newest first; what never happened is older than all that did. */
function secondsBefore(column: Float64Array): (row: number) => number {
  return (row) => {
    const at = column[row] ?? 0
    return at === 0 ? KEY_MAX - 1 : KEY_MAX - 2 - Math.floor(at / 1000)
  }
}

/** Rows without the word are last. */
function wordKeys(column: Uint16Array, words: readonly string[]): (row: number) => number {
  const ordered = words.map((word, place) => ({ place, key: naturalKey(word) }))
  ordered.sort((a, b) => (a.key < b.key ? -1 : 1))
  const ranks = new Float64Array(words.length)
  ordered.forEach(({ place, key }, rank) => {
    ranks[place] = key === '' ? NONE : rank
  })
  return (row) => ranks[column[row] ?? 0] ?? 0
}

/** Metrics are quantised to the range that they have; rows without a value are last. */
function metricKeys(column: Float64Array | undefined): (row: number) => number {
  if (column === undefined) return () => 0
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of column) {
    if (value < least) least = value
    if (value > most) most = value
  }
  const step = most > least ? (KEY_MAX - 2) / (most - least) : 0
  return (row) => {
    const value = column[row] ?? Number.NaN
    return Number.isNaN(value) ? NONE : (value - least) * step
  }
}

export const STATUSES_WORST_FIRST = [...DEVICE_STATUSES].sort((a, b) => {
  return (SEVERITY[STATUS[a]] ?? 0) - (SEVERITY[STATUS[b]] ?? 0)
})
