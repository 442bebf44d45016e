// Counts beside the list: how many devices there are by status, type, group, tag and firmware among those that fit. The
// counts of a facet leave its own terms aside, so that they tell what another choice would bring.

import { DEVICE_STATUSES } from '../../../../schemas/vocabulary.ts'
import type { FilterKey, Query } from '../address/filter.ts'
import type { FleetColumns } from './columns.ts'
import { type FilterContext, matchingRows, needsAttention } from './filter-rows.ts'

export const FACET_KEYS = [
  'status',
  'is',
  'type',
  'group',
  'tag',
  'fw',
] as const satisfies readonly FilterKey[]
export type FacetKey = (typeof FACET_KEYS)[number]

export interface FacetCount {
  readonly value: string
  readonly count: number
}
export type Facets = Readonly<Record<FacetKey, readonly FacetCount[]>>

export function facetsOf(query: Query, context: FilterContext, rows: Uint32Array): Facets {
  const countsOf = (key: FacetKey) => {
    const others = query.filter(({ name }) => name !== key)
    const counted = others.length === query.length ? rows : matchingRows(others, context)
    return counts(key, counted, context.columns)
  }
  return {
    status: countsOf('status'),
    is: countsOf('is'),
    type: countsOf('type'),
    group: countsOf('group'),
    tag: countsOf('tag'),
    fw: countsOf('fw'),
  }
}

function counts(key: FacetKey, rows: Uint32Array, columns: FleetColumns): readonly FacetCount[] {
  switch (key) {
    case 'status': {
      const found = tally(rows, columns.status, DEVICE_STATUSES.length)
      return DEVICE_STATUSES.flatMap((value, i) => oneCount(value, found[i] ?? 0))
    }
    case 'is':
      return oneCount('attention', rows.filter((row) => needsAttention(columns, row)).length)
    case 'type':
      return byMost(tally(rows, columns.type, columns.types.words.length), columns.types.words)
    case 'fw':
      return byMost(tally(rows, columns.firmware, columns.firmwares.words.length), columns.firmwares.words)
    case 'tag': {
      const found = new Uint32Array(columns.tagWords.words.length)
      for (const row of rows) for (const tag of columns.tags[row] ?? []) found[tag] = (found[tag] ?? 0) + 1
      return byMost(found, columns.tagWords.words)
    }
    case 'group':
      return subtreeCounts(rows, columns)
  }
}

function tally(rows: Uint32Array, column: Uint8Array | Uint16Array, size: number): Uint32Array {
  const found = new Uint32Array(size)
  for (const row of rows) {
    const place = column[row] ?? 0
    found[place] = (found[place] ?? 0) + 1
  }
  return found
}

/** A group counts what is below it, too. Ordered as a tree. */
function subtreeCounts(rows: Uint32Array, { group, groups }: FleetColumns): readonly FacetCount[] {
  const exact = tally(rows, group, groups.words.length)
  const found = new Map<string, number>()
  exact.forEach((count, place) => {
    if (place === 0 || count === 0) return
    const segments = groups.at(place).split('/')
    for (let depth = 1; depth <= segments.length; depth++) {
      const path = segments.slice(0, depth).join('/')
      found.set(path, (found.get(path) ?? 0) + count)
    }
  })
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([value, count]) => ({ value, count }))
}

function byMost(found: Uint32Array, words: readonly string[]): readonly FacetCount[] {
  return words
    .flatMap((value, place) => (place === 0 ? [] : oneCount(value, found[place] ?? 0)))
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
}

const oneCount = (value: string, count: number): readonly FacetCount[] =>
  count === 0 ? [] : [{ value, count }]

/** How many devices would fit without each term; for the filter that fits none. */
export function matchesWithout(query: Query, context: FilterContext): readonly number[] {
  return query.map((_, place) => {
    const others = query.filter((__, i) => i !== place)
    return matchingRows(others, context).length
  })
}
