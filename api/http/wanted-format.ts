// Which of several forms of an answer its caller wants.

/** By the first type of `Accept` that is one of them; undefined if none is, or JSON or anything comes first. */
export function wantedFormat<Format extends string>(
  accept: string | undefined,
  types: Readonly<Record<Format, string>>,
): Format | undefined {
  // `Object.keys` knows keys as texts only.
  const formats = Object.keys(types) as Format[]
  for (const part of (accept ?? '').toLowerCase().split(',')) {
    const [type = ''] = part.split(';')
    if (/^\s*(?:application\/json|\*\/\*)\s*$/.test(type)) return undefined
    const found = formats.find((candidate) => types[candidate] === type.trim())
    if (found !== undefined) return found
  }
  return undefined
}
