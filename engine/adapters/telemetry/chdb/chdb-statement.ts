// What the ClickHouse HTTP interface means by a request, in words that chdb understands: settings and parameters as
// SET, rows that came as a body as a file. Pure text; nothing here runs anything.

export interface BodyInsert {
  readonly format: string
  /** The statement that reads the rows from this file. */
  from(path: string): string
}

const TRAILING_FORMAT = /\sFORMAT\s+([A-Za-z0-9_]+)\s*;?\s*$/i
const INPUT = /\binput\s*\(\s*('(?:[^'\\]|\\.|'')*')\s*\)/i
const INSERT = /^\s*INSERT\s+INTO\s/i
const INLINE =
  /^(\s*INSERT\s+INTO\s(?:(?!\bVALUES\b)[\s\S])*?\sFORMAT\s+(?!Values\b)[A-Za-z0-9_]+)(?:;|[ \t]*\r?\n|\s)/i
const READS = /^[\s(]*(?:SELECT|WITH|SHOW|DESCRIBE|DESC|EXPLAIN|EXISTS)\b/i
const KEEPS_STATE = /^\s*(?:SET|USE|CREATE\s+TEMPORARY)\b/i
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

/** An INSERT whose rows follow as a body: `INSERT INTO t … FORMAT Native`, also with a SELECT from `input(…)`. */
export function parseBodyInsert(statement: string): BodyInsert | undefined {
  const format = INSERT.test(statement) ? TRAILING_FORMAT.exec(statement) : null
  const name = format?.[1]
  if (format === null || name === undefined) return undefined
  const head = statement.slice(0, format.index)
  const input = INPUT.exec(head)
  return {
    format: name,
    from: (path) => {
      if (input === null) return `${head} SELECT * FROM file(${quote(path)}, '${name}')`
      const before = head.slice(0, input.index)
      const after = head.slice(input.index + input[0].length)
      return `${before}file(${quote(path)}, '${name}', ${input[1]})${after}`
    },
  }
}

/** A read whose rows the engine sends to this URL as it finds them, in the format the read asks for. */
export function toSending(statement: string, url: string, formatDefault: string): string {
  const format = TRAILING_FORMAT.exec(statement)
  const head = format === null ? statement.replace(/;\s*$/, '') : statement.slice(0, format.index)
  return `INSERT INTO FUNCTION url(${quote(url)}, ${quote(format?.[1] ?? formatDefault)}) ${head}`
}

/** Splits `INSERT … FORMAT CSV⏎1,2` as `curl --data-binary` sends it. */
export function splitInlineRows(
  body: string,
): { readonly statement: string; readonly rows: string } | undefined {
  const found = INLINE.exec(body)
  const statement = found?.[1]
  if (found === null || statement === undefined) return undefined
  const rows = body.slice(found[0].length)
  return rows.trim() === '' ? undefined : { statement, rows }
}

export function isRead(statement: string): boolean {
  return READS.test(statement)
}

/** Leaves something behind in its connection, which others must not find. */
export function keepsState(statement: string): boolean {
  return KEEPS_STATE.test(statement)
}

export function isName(text: string): boolean {
  return NAME.test(text)
}

/** A string literal: the only way a value gets into a statement. */
export function quote(text: string): string {
  return `'${text.replace(/[\\'\0]/g, (char) => (char === '\0' ? '\\0' : `\\${char}`))}'`
}

/** `SET` for these values; names that `stale` lists and these do not have go back to what they were at first. */
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
