/** Groups items by `groupOf`. Groups and the items in them keep the order of `items`. */
export function grouped<Item, Group>(
  items: Iterable<Item>,
  groupOf: (item: Item) => Group,
): Map<Group, Item[]> {
  const groups = new Map<Group, Item[]>()
  for (const item of items) {
    const group = groupOf(item)
    const own = groups.get(group)
    if (own === undefined) groups.set(group, [item])
    else own.push(item)
  }
  return groups
}
