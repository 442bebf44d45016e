// Compares the order of a register's states with the order of its operations in real time.

/** One operation. `place` is the place of the state that it made or saw, in the order of states. */
export interface Operation {
  readonly label: string
  readonly from: number
  /** Infinite if the operation may take effect at any later time. */
  readonly to: number
  readonly place: number
}

/**
 * Finds operations that ended before another began and yet have a later place. If places are known and there are none,
 * the register is linearizable: ordered by place and then by beginning, no operation moves out of its span.
 */
export function outOfOrder(
  operations: readonly Operation[],
): readonly { readonly earlier: Operation; readonly later: Operation }[] {
  const byStart = operations.toSorted((a, b) => a.from - b.from)
  const byEnd = operations.toSorted((a, b) => a.to - b.to)
  const found: { earlier: Operation; later: Operation }[] = []
  let furthest: Operation | undefined
  let ended = 0
  for (const later of byStart) {
    for (let next = byEnd[ended]; next !== undefined && next.to < later.from; next = byEnd[++ended])
      if (furthest === undefined || next.place > furthest.place) furthest = next
    if (furthest !== undefined && furthest.place > later.place) found.push({ earlier: furthest, later })
  }
  return found
}
