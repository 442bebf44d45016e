// Chooses between the formats of an answer.

/** The first of the formats that `Accept` lists. Undefined if it lists none of them, or lists JSON or any type earlier. */
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
