import fc from 'fast-check'
import { expect, test } from 'vitest'
import { quoteLargeIntegers } from './large-integers.ts'

test.each([
  ['{"id":9007199254740993}', { id: '9007199254740993' }],
  ['{"id": -9223372036854775808}', { id: '-9223372036854775808' }],
  ['[9007199254740991,18446744073709551615]', [9_007_199_254_740_991, '18446744073709551615']],
  ['{"x":0.30000000000000004}', { x: 0.300_000_000_000_000_04 }],
  [
    '{"x":12345678901234567890.5,"y":12345678901234567890e1}',
    { x: Number('12345678901234567890.5'), y: Number('12345678901234567890e1') },
  ],
  [
    String.raw`{"t":"a:12345678901234567890, \"b","n":12345678901234567890}`,
    { t: 'a:12345678901234567890, "b', n: '12345678901234567890' },
  ],
])('%s keeps its large integers as strings', (text, expected) => {
  expect(JSON.parse(quoteLargeIntegers(text))).toEqual(expected)
})

test('a large integer becomes a string of its digits, and all other values stay the same', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify({ value, n: 12_345 })
      const expected = JSON.parse(text, (_, inner) =>
        Number.isInteger(inner) && !Number.isSafeInteger(inner) && Math.abs(inner) < 1e21
          ? String(inner)
          : inner,
      )
      expect(JSON.parse(quoteLargeIntegers(text))).toEqual(expected)
    }),
  )
})
