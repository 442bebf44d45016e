// Whom a filter aims at, as a target of the service. What the service judges in another way than the list, or not at all, aims
// at the devices that the list shows now.
import { parseQuery } from '../address/filter.ts'
import { type ServerFilter, toServerQuery } from '../address/server-filter.ts'
import { type FilterContext, matchingRows } from './filter-rows.ts'

export type FilterTarget =
  | { readonly type: 'query'; readonly value: ServerFilter }
  | { readonly type: 'devices'; readonly value: readonly string[] }

export interface FilteredFleet extends Pick<FilterContext, 'columns' | 'nowMs'> {
  /** Whether the index has all devices. Without it the service alone can judge. */
  readonly isWhole: boolean
}

export function filterTarget(filterText: string, { isWhole, ...context }: FilteredFleet): FilterTarget {
  const query = parseQuery(filterText)
  const { filter, unknown } = toServerQuery(query)
  // The service looks for words at the beginning of ids and names, and the list anywhere. The list ignores the letter case of a type,
  // the service does not.
  const isTypeAlike = filter.type === undefined || context.columns.types.words.includes(filter.type)
  const isAlike = filter.firmware_version === undefined && filter.q === undefined && isTypeAlike
  if (query.length > 0 && unknown.length === 0 && (isAlike || !isWhole))
    return { type: 'query', value: filter }
  const rows = query.length === 0 ? [] : [...matchingRows(query, context)]
  return { type: 'devices', value: rows.map((row) => context.columns.ids[row] ?? '') }
}
