// The query of an address as a flat record. Blanks stay readable, and an empty value is left out.
export type QueryText = Readonly<Record<string, string | undefined>>

export function toSearch(query: QueryText): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') params.set(name, value)
  const text = params.toString().replaceAll('%3A', ':').replaceAll('%2C', ',').replaceAll('%2F', '/')
  return text === '' ? '' : `?${text}`
}

export function fromSearch(search: string): QueryText {
  return Object.fromEntries(new URLSearchParams(search))
}
