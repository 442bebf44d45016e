/** Processes all items, a limited number of them concurrently. */
export async function eachAtOnce<Item>(
  items: Iterable<Item>,
  atOnceMax: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const queue = items[Symbol.iterator]()
  const worker = async () => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: atOnceMax }, worker))
}
