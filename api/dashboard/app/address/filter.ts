// The filter language of the whole dashboard: text ↔ terms ↔ `?q=`.
//
//   query = term { " " term }              all of them must fit; a comma inside a value means "or"; a leading "-" negates
//   term  = word | name ":" [ "<" | ">" | "=" ] value
//
// Quotes keep blanks, commas and colons. Any text is a query; what is wrong with a term is said by `filter-check`.
export const FILTER_KEYS = [
  'status',
  'type',
  'group',
  'tag',
  'id',
  'parent',
  'fw',
  'conn',
  'flapping',
  'sync',
  'seen',
  'since',
  'alert',
  'is',
] as const
export type FilterKey = (typeof FILTER_KEYS)[number]

const OPERATORS = ['<', '>', '='] as const
export type Operator = (typeof OPERATORS)[number]

export interface Term {
  readonly isNegated: boolean
  /** A key, or the name of a metric. Undefined for a word, which is looked for in ids and names. */
  readonly name: string | undefined
  readonly operator: Operator | undefined
  /** One of them has to fit. Empty while the term is still being typed. */
  readonly values: readonly string[]
}
export type Query = readonly Term[]

export const isFilterKey = (name: string | undefined): name is FilterKey =>
  FILTER_KEYS.some((key) => key === name)

export function parseQuery(text: string): Query {
  return tokensOf(text).flatMap((token) => {
    const term = termOf(token)
    return term === undefined ? [] : [term]
  })
}

export function formatQuery(query: Query): string {
  return query.map(formatTerm).join(' ')
}

export function formatTerm({ isNegated, name, operator, values }: Term): string {
  const lead = isNegated ? '-' : ''
  if (name === undefined) return `${lead}${values.map(quotedWord).join(',')}`
  return `${lead}${name}:${operator ?? ''}${values.map(quotedValue).join(',')}`
}

/** A character, and whether quotes took its meaning away. */
interface Character {
  readonly sign: string
  readonly isQuoted: boolean
}
type Token = readonly Character[]

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = []
  let token: Character[] = []
  let isQuoted = false
  let isEscaped = false
  for (const sign of text) {
    if (isQuoted && !isEscaped && sign === '\\') isEscaped = true
    else if (!isEscaped && sign === '"') isQuoted = !isQuoted
    else if (!isQuoted && /\s/u.test(sign)) {
      if (token.length > 0) tokens.push(token)
      token = []
    } else {
      token.push({ sign, isQuoted })
      isEscaped = false
    }
  }
  if (token.length > 0) tokens.push(token)
  return tokens
}

function termOf(token: Token): Term | undefined {
  const isNegated = isPlain(token[0], '-')
  const rest = isNegated ? token.slice(1) : token
  const colon = rest.findIndex((character) => isPlain(character, ':'))
  const name = nameOf(rest.slice(0, Math.max(0, colon)))
  if (name === undefined) {
    const values = valuesOf(rest)
    return values.length === 0 ? undefined : { isNegated, name, operator: undefined, values }
  }
  const operator = OPERATORS.find((sign) => isPlain(rest[colon + 1], sign))
  const values = valuesOf(rest.slice(colon + (operator === undefined ? 1 : 2)))
  return { isNegated, name, operator, values }
}

/** Undefined if it cannot be a name, so that the token is a word. */
function nameOf(characters: Token): string | undefined {
  const name = characters.map(({ sign }) => sign).join('')
  const isName = /^[\p{L}_][\p{L}\p{N}_./-]*$/u.test(name) && characters.every(({ isQuoted }) => !isQuoted)
  if (!isName) return undefined
  const lower = name.toLowerCase()
  // Keys are short and typed by hand, so their letter case does not count; that of metrics does.
  return isFilterKey(lower) ? lower : name
}

function valuesOf(characters: Token): readonly string[] {
  const values: string[] = ['']
  for (const character of characters)
    if (isPlain(character, ',')) values.push('')
    else values.push(`${values.pop() ?? ''}${character.sign}`)
  return values.filter((value) => value !== '')
}

const isPlain = (character: Character | undefined, sign: string) =>
  character?.sign === sign && !character.isQuoted

const quotedWord = (value: string) => (/^[^\s",:-][^\s",:]*$/u.test(value) ? value : quoted(value))
const quotedValue = (value: string) => (/^[^\s",<>=][^\s",]*$/u.test(value) ? value : quoted(value))
const quoted = (value: string) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`
