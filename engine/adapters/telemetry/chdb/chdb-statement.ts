// Turns requests of ClickHouse's HTTP interface into statements that chdb understands: settings and parameters become
// SET, rows in a body become a file, and a result to be streamed becomes an INSERT.

const INPUT = /\binput\(('(?:[^'\\]|\\.)*')\)/
const TRAILING_FORMAT = /\sFORMAT\s+(\w+)\s*$/

/** Turns `INSERT INTO … FROM input('columns') … FORMAT name` into the same insert with its rows read from a file. */
export function toFileInsert(statement: string): ((path: string) => string) | undefined {
  const columns = INPUT.exec(statement)?.[1]
  const format = TRAILING_FORMAT.exec(statement)?.[1]
  if (columns === undefined || format === undefined) return undefined
  const head = statement.replace(TRAILING_FORMAT, '')
  return (path) => head.replace(INPUT, () => `file(${quote(path)}, '${format}', ${columns})`)
}

/** Makes the engine send the rows of a query to this URL as it finds them, in the format the query names. */
export function toUrlInsert(query: string, url: string): string {
  const format = TRAILING_FORMAT.exec(query)?.[1] ?? 'TabSeparated'
  return `INSERT INTO FUNCTION url(${quote(url)}, ${quote(format)}) ${query.replace(TRAILING_FORMAT, '')}`
}

/** Quotes text as a string literal. Values enter a statement in no other way. */
export function quote(text: string): string {
  return `'${text.replace(/[\\'\0]/g, (char) => (char === '\0' ? '\\0' : `\\${char}`))}'`
}

/** A `SET` of these values. A name in `stale` without a new value is reset to its value in `first`, or to its default. */
export function toSet(
  values: ReadonlyMap<string, string>,
  stale: Iterable<string>,
  first: ReadonlyMap<string, string>,
): string {
  const parts = [...values].map(([name, value]) => `${name}=${quote(value)}`)
  for (const name of stale) {
    const value = first.get(name)
    if (!values.has(name)) parts.push(`${name}=${value === undefined ? 'DEFAULT' : quote(value)}`)
  }
  return parts.length === 0 ? '' : `SET ${parts.join(', ')}; `
}
