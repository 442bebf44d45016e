type FilledFields<Fields> = { readonly [Name in keyof Fields]?: Exclude<Fields[Name], '' | undefined> }

/** Only the fields that have something in them: an empty text of a form or a filter asks for nothing. */
export function omitEmpty<Fields extends Readonly<Record<string, string | number | undefined>>>(
  fields: Fields,
): FilledFields<Fields> {
  const found = Object.entries(fields).filter(([, text]) => text !== undefined && text !== '')
  // What is left out is empty, by the line above.
  return Object.fromEntries(found) as FilledFields<Fields>
}
