// Ids of checks, like CONN-01, as people write them: `CONN 01`, `conn01`, or an area alone.

/** True if the id is meant by one of these words. */
export function isChosen(id: string, only: readonly string[]): boolean {
  return only.some((word) => {
    const wanted = plain(word)
    return plain(id) === wanted || area(id) === wanted
  })
}

export function area(id: string): string {
  return id.split('-')[0] ?? id
}

function plain(word: string): string {
  return word
    .toUpperCase()
    .replace(/[\s_-]/g, '')
    .replace(/^([A-Z]+)(\d)$/, '$10$2')
}
