// Which metrics a query means: names, lists of names, and everything below a prefix.

/**
 * Each text is a metric's name, several of them with commas between, or `prefix.*`. A metric that a device really has
 * is meant as it is written, comma, star and all. In the order written, each once; a prefix's by name.
 */
export function selectMetrics(texts: readonly string[], known: Iterable<string>): readonly string[] {
  const names = new Set(known)
  const ofText = (text: string) => (names.has(text) ? [text] : text.split(',').filter((name) => name !== ''))
  const ofName = (name: string) =>
    isPattern(name) && !names.has(name) ? below(name.slice(0, -1), names) : [name]
  return [...new Set(texts.flatMap(ofText).flatMap(ofName))]
}

/** True if what it means depends on what the device has. */
export function needsNames(texts: readonly string[]): boolean {
  return texts.some((text) => text.includes(',') || isPattern(text))
}

const isPattern = (name: string) => name === '*' || name.endsWith('.*')

const below = (prefix: string, names: Iterable<string>) =>
  [...names].filter((name) => name.startsWith(prefix)).sort()
