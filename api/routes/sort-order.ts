// The order of a list that is sorted in memory.

/** Parses `name:ASC`. A field without a direction sorts in ascending order. Equal items are sorted by id, so that pages do
 *  not overlap. */
export function sortOrder<Field extends string, Item extends { readonly id: string }>(
  sort: string,
  keys: Readonly<Record<Field, (item: Item) => string | number>>,
): (a: Item, b: Item) => number {
  const [field, direction = 'asc'] = sort.split(':')
  // The query's schema accepts only valid field names.
  const key = keys[field as Field]
  const sign = direction.toLowerCase() === 'desc' ? -1 : 1
  return (a, b) => (compare(key(a), key(b)) || compare(a.id, b.id)) * sign
}

const compare = <T extends string | number>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0)
