// The order of names as people expect it: letter case does not count, and `robot-9` comes before `robot-10`.

/** The place of each row in the order; rows of removed devices are at the end. */
export function ranksOf(texts: readonly string[], isAlive: Uint8Array): Uint32Array {
  const keys = texts.map(naturalKey)
  const rows = Array.from(texts.keys()).filter((row) => isAlive[row] === 1)
  rows.sort((a, b) => compare(keys[a] ?? '', keys[b] ?? '') || compare(texts[a] ?? '', texts[b] ?? ''))
  const ranks = new Uint32Array(texts.length).fill(rows.length)
  rows.forEach((row, rank) => {
    ranks[row] = rank
  })
  return ranks
}

/** A text whose order by its characters is the natural one: numbers are made equally long. */
export function naturalKey(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/\d{1,12}/g, (digits) => digits.padStart(12, '0'))
}

export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
