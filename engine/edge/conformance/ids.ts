// Ids of checks, such as CONN-01, in the forms that people type: `CONN 01`, `conn01` or an area alone.

/** Returns true if one of these words names the check or its area. */
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
