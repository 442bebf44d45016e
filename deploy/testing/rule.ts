// Runs the SQL of our EMQX rules like emqx_rule_runtime of EMQX 5.8.9. It knows the part of the language that they use:
// SELECT, or FOREACH with DO, then FROM and WHERE, with functions, names, numbers, texts, lists and CASE. SELECT is
// evaluated before WHERE, so it fails on a message that WHERE would have excluded.
import { createHash } from 'node:crypto'

export type Columns = Readonly<Record<string, unknown>>

export interface Rule {
  /** Filters of topics or names of events. */
  readonly from: readonly string[]
  /** Returns the columns for each run of the action. Throws if EMQX would count an exception. */
  run(columns: Columns): readonly Columns[]
}

type Evaluate = (columns: Columns) => unknown

interface SelectedField {
  readonly path: readonly string[]
  readonly evaluate: Evaluate
}

const CLAUSES =
  /^\s*(?:SELECT\b(?<select>[\s\S]*)|FOREACH\b(?<each>[\s\S]*?)\bDO\b(?<does>[\s\S]*))\bFROM\b(?<from>[\s\S]*?)(?:\bWHERE\b(?<where>[\s\S]*))?$/

export function parseRule(sql: string): Rule {
  const clauses = CLAUSES.exec(sql)?.groups
  if (clauses === undefined) throw new Error(`not understood: ${sql}`)
  const { select, each, does = '', from = '', where } = clauses
  const conditions = tokensOf(where ?? '')
  const isMeant = where === undefined ? () => true : parseCondition(conditions)
  end(conditions)
  const wanted = parseSelect(select ?? does)
  const items = each === undefined ? undefined : parseSelect(each)[0]
  return {
    from: [...from.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
    run(columns) {
      if (items === undefined) {
        const selected = evaluate(wanted, columns)
        return isMeant({ ...columns, ...selected }) === true ? [selected] : []
      }
      const list = items.evaluate(columns)
      const all: Record<string, unknown> = { ...columns }
      put(all, items.path, list)
      if (isMeant(all) !== true || !isList(list)) return []
      return list.map((item) => evaluate(wanted, { ...all, [items.path.join('.')]: item }))
    },
  }
}

/** Evaluates the fields in order. A field can use those before it. */
function evaluate(wanted: readonly SelectedField[], columns: Columns): Columns {
  const selected: Record<string, unknown> = {}
  for (const { path, evaluate: value } of wanted) put(selected, path, value({ ...columns, ...selected }))
  return selected
}

/**
 * Replaces `${a.b}` in a topic or payload. `${.}` stands for all columns. Values other than text are written as JSON, and
 * missing values as the text `undefined`.
 */
export function render(template: string, columns: Columns): string {
  return template.replace(/\$\{([^}]*)\}/g, (_, path: string) => {
    const value = path === '.' ? columns : look(columns, path.split('.'))
    return typeof value === 'string'
      ? value
      : JSON.stringify(value ?? UNDEFINED, (_key, inner) =>
          inner === undefined ? UNDEFINED : inner,
        ).replace(/^"undefined"$/, UNDEFINED)
  })
}

const UNDEFINED = 'undefined'

const TOKEN = /\s+|(?<text>'[^']*')|(?<number>\d+)|(?<name>[A-Za-z_][\w.]*)|(?<mark>=~|[(),=[\]])/y

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

function parseSelect(text: string): readonly SelectedField[] {
  const tokens = tokensOf(text)
  const selected: SelectedField[] = []
  while (tokens.length > 0) {
    const first = tokens[0] ?? ''
    const value = parseValue(tokens)
    const alias = tokens[0] === 'as' ? tokens.splice(0, 2)[1] : first
    selected.push({ path: (alias ?? '').split('.'), evaluate: value })
    if (tokens.length > 0) take(tokens, ',')
  }
  return selected
}

function parseCondition(tokens: string[]): Evaluate {
  let whole = parseAll(tokens)
  while (isNext(tokens, 'or')) {
    take(tokens, 'or')
    const [left, right] = [whole, parseAll(tokens)]
    whole = (columns) => left(columns) === true || right(columns) === true
  }
  return whole
}

function parseAll(tokens: string[]): Evaluate {
  let whole = parseComparison(tokens)
  while (isNext(tokens, 'and')) {
    take(tokens, 'and')
    const [left, right] = [whole, parseComparison(tokens)]
    whole = (columns) => left(columns) === true && right(columns) === true
  }
  return whole
}

/** A comparison with a missing value is false, unless both sides are missing. */
function parseComparison(tokens: string[]): Evaluate {
  const left = parseValue(tokens)
  const operator = tokens.shift()
  const right = parseValue(tokens)
  if (operator !== '=' && operator !== '=~') throw new Error(`no operator: ${operator}`)
  return (columns) => {
    const [l, r] = [left(columns), right(columns)]
    if (operator === '=' || l === undefined || r === undefined) return l === r
    return isMatch(String(r), String(l))
  }
}

function parseCase(tokens: string[]): Evaluate {
  const branches: { readonly when: Evaluate; readonly value: Evaluate }[] = []
  while (isNext(tokens, 'WHEN')) {
    take(tokens, 'WHEN')
    const when = parseCondition(tokens)
    take(tokens, 'THEN')
    branches.push({ when, value: parseValue(tokens) })
  }
  let otherwise: Evaluate = () => undefined
  if (isNext(tokens, 'ELSE')) {
    take(tokens, 'ELSE')
    otherwise = parseValue(tokens)
  }
  take(tokens, 'END')
  return (columns) => (branches.find(({ when }) => when(columns) === true)?.value ?? otherwise)(columns)
}

function parseValue(tokens: string[]): Evaluate {
  const token = tokens.shift() ?? 'nothing'
  if (token.startsWith("'")) return () => token.slice(1, -1)
  if (/^\d/.test(token)) return () => Number(token)
  if (token === 'true' || token === 'false') return () => token === 'true'
  if (token === 'CASE') return parseCase(tokens)
  if (token === '[') {
    const items = parseList(tokens, ']')
    return (columns) => items.map((item) => item(columns))
  }
  if (!isNext(tokens, '(')) return (columns) => look(columns, token.split('.'))
  take(tokens, '(')
  const given = parseList(tokens, ')')
  const call = FUNCTIONS[token]
  if (call === undefined) throw new Error(`no function: ${token}`)
  return (columns) => call(...given.map((value) => value(columns)))
}

function parseList(tokens: string[], close: string): readonly Evaluate[] {
  const items: Evaluate[] = []
  while (!isNext(tokens, close)) {
    items.push(parseValue(tokens))
    if (!isNext(tokens, close)) take(tokens, ',')
  }
  take(tokens, close)
  return items
}

function end(tokens: readonly string[]): void {
  if (tokens.length > 0) throw new Error(`not understood: ${tokens.join(' ')}`)
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
  if (Buffer.isBuffer(value)) return value.toString()
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

/** True if an MQTT topic filter matches a topic. */
export function isMatch(filter: string, topic: string): boolean {
  const levels = topic.split('/')
  const wanted = filter.split('/')
  const end = wanted.indexOf('#')
  if (end < 0 ? levels.length !== wanted.length : levels.length < end) return false
  return wanted.every((level, index) =>
    end >= 0 && index >= end ? true : level === '+' || level === levels[index],
  )
}
