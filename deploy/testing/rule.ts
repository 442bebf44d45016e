// Runs the SQL of our EMQX rules, for the part of the language that they use: SELECT … FROM … WHERE with functions,
// names, numbers and strings. No EMQX runs in tests; a plain broker with this interpreter republishes as EMQX would.
import { createHash } from 'node:crypto'

export type Columns = Readonly<Record<string, unknown>>

export interface Rule {
  /** Topic filters or names of events. */
  readonly from: readonly string[]
  /** Returns the selected columns of a message or event, or undefined if WHERE excludes it. */
  run(columns: Columns): Columns | undefined
}

type Evaluate = (columns: Columns) => unknown

interface Selected {
  readonly path: readonly string[]
  readonly evaluate: Evaluate
}

const CLAUSES = /^\s*SELECT\b(?<select>[\s\S]*)\bFROM\b(?<from>[\s\S]*?)(?:\bWHERE\b(?<where>[\s\S]*))?$/

export function parseRule(sql: string): Rule {
  const { select = '', from = '', where } = CLAUSES.exec(sql)?.groups ?? {}
  const wanted = parseSelect(select)
  const condition = where === undefined ? undefined : parseWhole(where)
  return {
    from: [...from.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
    run(columns) {
      if (condition !== undefined && condition(columns) !== true) return undefined
      const selected: Record<string, unknown> = {}
      for (const { path, evaluate } of wanted) put(selected, path, evaluate(columns))
      return selected
    },
  }
}

/** Replaces `${a.b}` in a topic or payload; `${.}` stands for all columns. Values other than text are written as JSON. */
export function render(template: string, columns: Columns): string {
  return template.replace(/\$\{([^}]*)\}/g, (_, path: string) => {
    const value = path === '.' ? columns : look(columns, path.split('.'))
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}

const TOKEN = /\s+|(?<text>'[^']*')|(?<number>\d+)|(?<name>[A-Za-z_][\w.]*)|(?<mark>=~|[(),=])/y

function tokensOf(text: string): string[] {
  const found: string[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const from = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (match === null) throw new Error(`not understood: ${text.slice(from, from + 40)}`)
    if (match[0].trim() !== '') found.push(match[0])
  }
  return found
}

function parseSelect(text: string): readonly Selected[] {
  const tokens = tokensOf(text)
  const selected: Selected[] = []
  while (tokens.length > 0) {
    const first = tokens[0] ?? ''
    const evaluate = parseValue(tokens)
    const alias = tokens[0] === 'as' ? tokens.splice(0, 2)[1] : first
    selected.push({ path: (alias ?? '').split('.'), evaluate })
    if (tokens.length > 0) take(tokens, ',')
  }
  return selected
}

function parseWhole(text: string): Evaluate {
  const tokens = tokensOf(text)
  let whole = parseComparison(tokens)
  while (tokens.length > 0) {
    take(tokens, 'or')
    const [left, right] = [whole, parseComparison(tokens)]
    whole = (columns) => left(columns) === true || right(columns) === true
  }
  return whole
}

function parseComparison(tokens: string[]): Evaluate {
  const left = parseValue(tokens)
  const operator = tokens.shift()
  const right = parseValue(tokens)
  if (operator === '=~') return (columns) => isMatch(String(right(columns)), String(left(columns)))
  if (operator !== '=') throw new Error(`no operator: ${operator}`)
  return (columns) => left(columns) === right(columns)
}

function parseValue(tokens: string[]): Evaluate {
  const token = tokens.shift() ?? 'nothing'
  if (token.startsWith("'")) return () => token.slice(1, -1)
  if (/^\d/.test(token)) return () => Number(token)
  if (token === 'true' || token === 'false') return () => token === 'true'
  if (!isNext(tokens, '(')) return (columns) => look(columns, token.split('.'))
  take(tokens, '(')
  const given: Evaluate[] = []
  while (!isNext(tokens, ')')) {
    given.push(parseValue(tokens))
    if (!isNext(tokens, ')')) take(tokens, ',')
  }
  take(tokens, ')')
  const call = FUNCTIONS[token]
  if (call === undefined) throw new Error(`no function: ${token}`)
  return (columns) => call(...given.map((evaluate) => evaluate(columns)))
}

function isNext(tokens: readonly string[], expected: string): boolean {
  return tokens[0] === expected
}

function take(tokens: string[], expected: string): void {
  const token = tokens.shift()
  if (token !== expected) throw new Error(`${expected} expected, not ${token}`)
}

/** The functions of emqx_rule_funcs. Lists count from 1, text from 0; numbers from bits are unsigned and big-endian. */
const FUNCTIONS: Readonly<Record<string, (...given: readonly unknown[]) => unknown>> = {
  nth: (index, list) => (isList(list) ? list[number(index) - 1] : undefined),
  tokens: (value, separators) => {
    const marks = new Set(text(separators))
    const parts: string[] = ['']
    for (const char of text(value)) {
      if (marks.has(char)) parts.push('')
      else parts[parts.length - 1] += char
    }
    return parts.filter((part) => part !== '')
  },
  substr: (value, start, length) => text(value).slice(number(start), number(start) + number(length)),
  md5: (value) => createHash('md5').update(text(value)).digest('hex'),
  hexstr2bin: (value) => Buffer.from(text(value), 'hex'),
  subbits: (bits, count) => {
    if (!Buffer.isBuffer(bits)) throw new Error('subbits takes bytes')
    const all = BigInt(`0x${bits.toString('hex')}`)
    return Number(all >> BigInt(bits.length * 8 - number(count)))
  },
  mod: (left, right) => number(left) % number(right),
  is_null: (value) => value === undefined || value === null,
  str: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  json_decode: (value) => JSON.parse(text(value)),
  map_get: (key, map) => look(map, [text(key)]),
  regex_match: (value, pattern) => new RegExp(text(pattern), 'u').test(text(value)),
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

// EMQX also fails if a function gets a value of another type.
function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`not a text: ${JSON.stringify(value)}`)
  return value
}

function number(value: unknown): number {
  if (typeof value !== 'number') throw new Error(`not a number: ${JSON.stringify(value)}`)
  return value
}

function look(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => {
    const isThere = typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
    return isThere ? Reflect.get(inner, key) : undefined
  }, value)
}

function put(into: Record<string, unknown>, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) into[key] = value
  else {
    const inner: Record<string, unknown> = { ...(typeof into[key] === 'object' ? into[key] : {}) }
    put(inner, rest, value)
    into[key] = inner
  }
}

/** Whether an MQTT topic filter matches a topic. */
export function isMatch(filter: string, topic: string): boolean {
  const levels = topic.split('/')
  const wanted = filter.split('/')
  const end = wanted.indexOf('#')
  if (end < 0 ? levels.length !== wanted.length : levels.length < end) return false
  return wanted.every((level, index) =>
    end >= 0 && index >= end ? true : level === '+' || level === levels[index],
  )
}
