import fc from 'fast-check'
import { expect, test } from 'vitest'
import { API_LIMITS } from '../limits.ts'
import { CsvReader, csvLine, unescapeFormula } from './csv.ts'

function read(...pieces: readonly string[]) {
  const reader = new CsvReader()
  const records = pieces.flatMap((piece) => reader.push(piece))
  return { records: [...records, ...reader.end()], problem: reader.problem }
}
const records = (text: string) => read(text).records

test('fields are separated by commas and may be quoted', () => {
  expect(records('a,b\r\n1,"x, ""y""\nz"\r\n')).toEqual([
    ['a', 'b'],
    ['1', 'x, "y"\nz'],
  ])
  expect(records(',\n""\n"",""')).toEqual([
    ['', ''],
    ['', ''],
  ])
  expect(records('a\rb\nc\r\n\r\n\nd')).toEqual([['a'], ['b'], ['c'], ['d']])
  expect(records('it"s,5" disk')).toEqual([['it"s', '5" disk']])
  expect(records('')).toEqual([])
})

test.each([
  ['a\n"b', 'a quoted field does not end'],
  ['"a"b,c', 'there is text after a closing quote'],
  [
    'x'.repeat(API_LIMITS.bulkRowCharsMax + 1),
    `a row is longer than ${API_LIMITS.bulkRowCharsMax} characters`,
  ],
  [
    `"${'\n'.repeat(API_LIMITS.bulkRowCharsMax)}`,
    `a row is longer than ${API_LIMITS.bulkRowCharsMax} characters`,
  ],
])('text that is no CSV is told of', (text, problem) => {
  expect(read(text).problem).toBe(problem)
})

test('written fields are read back in pieces of any size, and none is a formula', () => {
  const TEXT = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', "'", '=', '+', '-', '@', '\t', 'a') }),
  )
  fc.assert(
    fc.property(
      fc.array(fc.array(TEXT, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 7 }),
      (rows, size) => {
        const text = rows.map(csvLine).join('')
        const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []
        const { records: read_, problem } = read(...pieces)
        expect(problem).toBeUndefined()
        expect(read_.map((record) => record.map(unescapeFormula))).toEqual(rows)
        for (const field of read_.flat()) expect(field).not.toMatch(/^[=+\-@\t\r]/)
      },
    ),
  )
})

test.each(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])(
  'a field that begins with %j is no formula, and comes back as it was',
  (sign) => {
    const [[field = ''] = []] = records(csvLine([`${sign}1+1`]))
    expect([field, unescapeFormula(field)]).toEqual([`'${sign}1+1`, `${sign}1+1`])
  },
)
