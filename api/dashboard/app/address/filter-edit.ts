// Changes of a filter by its chips and facets.
import type { FilterKey, Query } from './filter.ts'

export function withoutTerm(query: Query, place: number): Query {
  return query.filter((_, i) => i !== place)
}

/** Whether a term asks for exactly this value, maybe among others. */
export function hasValue(query: Query, key: FilterKey, value: string): boolean {
  return query.some((term) => isPositive(term, key) && term.values.includes(value))
}

/** Adds the value to what the filter asks of the key, or takes it away again. */
export function toggledValue(query: Query, key: FilterKey, value: string): Query {
  const place = query.findIndex((term) => isPositive(term, key))
  const term = query[place]
  if (term === undefined)
    return [...query, { isNegated: false, name: key, operator: undefined, values: [value] }]
  const values = term.values.includes(value)
    ? term.values.filter((kept) => kept !== value)
    : [...term.values, value]
  if (values.length === 0) return withoutTerm(query, place)
  return query.map((kept, i) => (i === place ? { ...kept, values } : kept))
}

/** Asks of the key for this value alone, and keeps what the filter asks of others. */
export function onlyValue(query: Query, key: FilterKey, value: string): Query {
  return toggledValue(
    query.filter((term) => !isPositive(term, key)),
    key,
    value,
  )
}

function isPositive({ isNegated, name, operator }: Query[number], key: FilterKey): boolean {
  return name === key && !isNegated && operator === undefined
}
