// Resolves the metrics of a query, which may give names, lists of names, and prefixes.

/** Each text is a metric's name, several names with commas between them, or `prefix.*`. If the device has a metric of
 *  exactly that name, the text means this metric, even if the name contains a comma or a star. Returns each metric once,
 *  in the order written; metrics below a prefix are sorted. */
export function selectMetrics(texts: readonly string[], known: Iterable<string>): readonly string[] {
  const names = new Set(known)
  const ofText = (text: string) => (names.has(text) ? [text] : text.split(',').filter((name) => name !== ''))
  const ofName = (name: string) =>
    isPattern(name) && !names.has(name) ? below(name.slice(0, -1), names) : [name]
  return [...new Set(texts.flatMap(ofText).flatMap(ofName))]
}

/** Splits the texts at commas. Returns each name once, in the order written. */
export function namesOf(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.flatMap((text) => text.split(',')).filter((name) => name !== ''))]
}

/** True if `selectMetrics` needs to know which metrics the device has. */
export function needsNames(texts: readonly string[]): boolean {
  return texts.some((text) => text.includes(',') || isPattern(text))
}

const isPattern = (name: string) => name === '*' || name.endsWith('.*')

const below = (prefix: string, names: Iterable<string>) =>
  [...names].filter((name) => name.startsWith(prefix)).sort()
