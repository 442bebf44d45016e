// Where a text stops being JSON. `JSON.parse` tells it in some versions of Node and for some mistakes only.
const DEPTH_MAX = 32
const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none of them in a string.
  /[{}[\]:,]|"(?:[^"\\\u0000-\u001F]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const SPACE = /[ \t\r\n]*/y

type Expectation = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma or end'

/** The first character that JSON does not allow there, or undefined for JSON. */
export function jsonErrorAt(text: string): number | undefined {
  const open: string[] = []
  let expected: Expectation = 'value'
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    if (open.length === 0 && expected === 'comma or end') return at
    TOKEN.lastIndex = at
    const token = TOKEN.exec(text)?.[0]
    if (token === undefined) return at
    const next = nextExpectation(token, expected, open)
    if (next === undefined || open.length > DEPTH_MAX) return at
    expected = next
    at += token.length
  }
  return open.length === 0 && expected === 'comma or end' ? undefined : text.length
}

function nextExpectation(token: string, expected: Expectation, open: string[]): Expectation | undefined {
  const isString = token.startsWith('"')
  if (expected === 'colon') return token === ':' ? 'value' : undefined
  if (expected === 'key' || expected === 'key or }') {
    if (isString) return 'colon'
    return expected === 'key or }' && token === '}' ? close(open) : undefined
  }
  const within = open.at(-1)
  if (expected === 'comma or end') {
    if (token === ',') return within === '{' ? 'key' : 'value'
    return (token === '}' && within === '{') || (token === ']' && within === '[') ? close(open) : undefined
  }
  if (token === ']' && expected === 'value or ]') return close(open)
  if (token === '{' || token === '[') {
    open.push(token)
    return token === '{' ? 'key or }' : 'value or ]'
  }
  return isString || /^[-\dtfn]/.test(token) ? 'comma or end' : undefined
}

function close(open: string[]): Expectation {
  open.pop()
  return 'comma or end'
}

function skipSpace(text: string, at: number): number {
  SPACE.lastIndex = at
  return at + (SPACE.exec(text)?.[0].length ?? 0)
}
