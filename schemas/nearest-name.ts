// Suggests the most similar known name, for messages about an unknown one.

/** The known name that the fewest typing errors turn into this one. Undefined if none is similar. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  // A long name is no typing error, and comparing it would take long.
  const most = Math.min(3, Math.ceil(name.length / 3))
  let nearest: string | undefined
  let least = most + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const errors = typingErrors(name.toLowerCase(), candidate.toLowerCase())
    if (errors < least) [nearest, least] = [candidate, errors]
  }
  return nearest
}

/** The text for a message about an unknown name. */
export function unknownName(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  const all = known.length === 0 ? 'none' : known.join(', ')
  return nearest === undefined
    ? `is not known; known are ${all}`
    : `is not known; did you mean ${nearest}? Known are ${all}`
}

/** The number of letters left out, added, replaced or swapped with their neighbour (optimal string alignment). */
function typingErrors(a: string, b: string): number {
  let before: readonly number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwapped ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      row.push(Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped))
    }
    before = above
    above = row
  }
  return above[b.length] ?? 0
}
