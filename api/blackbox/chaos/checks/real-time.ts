// The order of a register's states against the order of its operations in real time.

/** One operation. Its place is that of the state it made or saw, in the order of states. */
export interface Operation {
  readonly label: string
  readonly from: number
  /** Infinite if it may take effect at any later time. */
  readonly to: number
  readonly place: number
}

/**
 * Operations that ended before another began and yet have a later place. Where places are known, having none of these
 * is what linearizability means: ordered by place, then by beginning, no operation moves out of its span.
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
