// No text may make a regular expression slow. A text of 16 KiB and a quadratic pattern would be enough to block the event
// loop.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as frames from '../../../schemas/ws.ts'
import { patternLiterals, readSources } from './sources.ts'

const ROOT = new URL('../../../', import.meta.url)
const TEXT_CHARS = 16_384
/** A linear pattern takes about 0.05 ms for such a text, a quadratic one 100 ms or more. */
const CPU_MS_MAX = 15
/** Several tries are needed, because CPU time is that of the whole process, in which other tests may be running. */
const TRIES = 12

const REPEATED = ['a', 'Z', '0', ' ', '\t', '\n', '-', '_', '.', '/', ':', ',', ';', '=', '"', "'", '@', '\\']
const PAIRS = ['a ', ' a', 'a.', 'a/', 'a,', 'a-', '0 ', '; ', '\\"', "''", 'a@', '1s', '(a']
const STARTS = ['', 'a', 'a@', ';charset=', 'wait=', 'input(']
const ENDS = ['\0', '!', '@@']
const TEXTS = [...REPEATED, ...PAIRS].flatMap((piece) => {
  const body = piece.repeat(Math.ceil(TEXT_CHARS / piece.length))
  return STARTS.flatMap((start) => ENDS.map((end) => start + body + end))
})

const OPENAPI: unknown = JSON.parse(readFileSync(new URL('schemas/openapi.json', ROOT), 'utf8'))
const SCHEMAS = new Set([...patternsIn(OPENAPI), ...patternsIn(frames)])
const LITERALS = readSources(ROOT, ['schemas', 'engine', 'api'])
  .filter(({ isTest }) => !isTest)
  .flatMap(({ code }) => patternLiterals(code))

test('the quadratic pattern that this test exists for is recognised', () => {
  expect(isSlow(/^[^\0]*[^\s\0][^\0]*$/, 3)).toBe(true)
})

test('no pattern of a schema is slow on a long text', () => {
  expect(SCHEMAS.size).toBeGreaterThan(8)
  expect([...SCHEMAS].filter((source) => isSlow(new RegExp(source, 'u')))).toEqual([])
})

test('no pattern in the code is slow on a long text', () => {
  expect(LITERALS.length).toBeGreaterThan(30)
  expect(LITERALS.filter((literal) => isSlow(literal)).map(String)).toEqual([])
})

/** Only the fastest try counts, so that a busy machine causes no false alarm. */
function isSlow(pattern: RegExp, triesMax = TRIES): boolean {
  return TEXTS.some((text) => {
    for (let tries = 0; tries < triesMax; tries++) {
      pattern.lastIndex = 0
      const { user } = process.cpuUsage()
      pattern.test(text)
      if (process.cpuUsage().user - user < CPU_MS_MAX * 1000) return false
    }
    return true
  })
}

function* patternsIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (key === 'pattern' && typeof inner === 'string') yield inner
    else yield* patternsIn(inner)
  }
}
