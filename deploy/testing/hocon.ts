// Reads the part of HOCON that our configuration uses: objects, lists, `a.b = c`, strings and comments. Anything else, such
// as a substitution or an include, is an error, so that nothing is read differently from how EMQX reads it.
export type Hocon = string | number | boolean | readonly Hocon[] | { readonly [key: string]: Hocon }
interface Fields {
  [key: string]: Hocon
}

const TOKEN =
  /(?<space>[^\S\n]+|#[^\n]*|\/\/[^\n]*)|(?<long>"""[\s\S]*?"""(?!"))|(?<text>"(?:\\.|[^"\\\n])*")|(?<mark>[{}[\]=:,\n])|(?<bare>[^\s{}[\]=:,#"$+`^?!@*&\\]+)/y

interface Token {
  readonly kind: 'text' | 'mark' | 'bare' | 'end'
  readonly text: string
}

export function parseHocon(source: string): Hocon {
  return new Reader(tokens(source)).fields('end')
}

/** Returns the value at `a.b.c`, and throws if there is none. */
export function at(hocon: Hocon, path: string): Hocon {
  return path.split('.').reduce<Hocon>((value, key) => {
    const next = isFields(value) ? value[key] : undefined
    if (next === undefined) throw new Error(`${path} is missing`)
    return next
  }, hocon)
}

function tokens(source: string): Token[] {
  const found: Token[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < source.length) {
    const from = TOKEN.lastIndex
    const groups = TOKEN.exec(source)?.groups
    if (groups === undefined) throw new Error(`not understood: ${source.slice(from, from + 40)}`)
    const { long, text, mark, bare } = groups
    if (long !== undefined) found.push({ kind: 'text', text: long.slice(3, -3) })
    // HOCON uses the escapes of JSON.
    else if (text !== undefined) found.push({ kind: 'text', text: String(JSON.parse(text)) })
    else if (mark !== undefined) found.push({ kind: 'mark', text: mark })
    else if (bare !== undefined) found.push({ kind: 'bare', text: bare })
  }
  return [...found, { kind: 'end', text: 'end' }]
}

class Reader {
  readonly #tokens: readonly Token[]
  #next = 0

  constructor(read: readonly Token[]) {
    this.#tokens = read
  }

  fields(close: string): Fields {
    const fields: Fields = {}
    for (;;) {
      this.#skip('\n', ',')
      if (this.#take(close)) return fields
      const path = this.#value('a name').split('.')
      if (!this.#isAt('{') && !this.#take('=') && !this.#take(':')) throw this.#error('= or {')
      put(fields, path, this.#any())
    }
  }

  #any(): Hocon {
    if (this.#take('{')) return this.fields('}')
    if (this.#take('[')) return this.#list()
    const { kind } = this.#peek()
    const text = this.#value('a value')
    if (kind === 'text') return text
    if (text === 'true' || text === 'false') return text === 'true'
    return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
  }

  #list(): readonly Hocon[] {
    const items: Hocon[] = []
    for (;;) {
      this.#skip('\n', ',')
      if (this.#take(']')) return items
      items.push(this.#any())
    }
  }

  #value(expected: string): string {
    const { kind, text } = this.#peek()
    if (kind !== 'text' && kind !== 'bare') throw this.#error(expected)
    this.#next++
    return text
  }

  #isAt(mark: string): boolean {
    const { kind, text } = this.#peek()
    return (kind === 'mark' || kind === 'end') && text === mark
  }

  #take(mark: string): boolean {
    const isAt = this.#isAt(mark)
    if (isAt) this.#next++
    return isAt
  }

  #skip(...marks: readonly string[]): void {
    while (marks.some((mark) => this.#take(mark)));
  }

  #peek(): Token {
    return this.#tokens[this.#next] ?? { kind: 'end', text: 'end' }
  }

  #error(expected: string): Error {
    const around = this.#tokens.slice(Math.max(0, this.#next - 4), this.#next + 2)
    return new Error(`${expected} expected near: ${around.map(({ text }) => text).join(' ')}`)
  }
}

/** Merges objects of the same name, as HOCON does. A value that is set twice is an error. */
function put(fields: Fields, [key = '', ...rest]: readonly string[], value: Hocon): void {
  const present = fields[key]
  if (rest.length > 0) {
    const inner: Fields = isFields(present) ? present : {}
    put(inner, rest, value)
    fields[key] = inner
  } else if (present === undefined) fields[key] = value
  else if (isFields(present) && isFields(value)) {
    for (const [name, field] of Object.entries(value)) put(present, [name], field)
  } else throw new Error(`${key} is set twice`)
}

function isFields(value: Hocon | undefined): value is Fields {
  return typeof value === 'object' && !Array.isArray(value)
}
