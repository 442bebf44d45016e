/** The fields that are not undefined, so that options left out on the command line are left out of the request. */
export function definedFields<Fields extends object>(
  fields: Fields,
): { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  // The same fields, without those that are undefined.
  return Object.fromEntries(entries) as { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
}
