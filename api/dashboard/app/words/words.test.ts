import { expect, test } from 'vitest'
import { number } from './words.ts'

test.each([
  [0.00042, '0.00042'],
  [-0.0001234, '-0.000123'],
  [0.1 + 0.2, '0.3'],
  [21.5, '21.5'],
  [1234.56789, '1,234.568'],
  [1_000_000, '1,000,000'],
  [0, '0'],
  [5, '5'],
])('%d is shown as %s: small numbers are not 0', (value, text) => {
  expect(number(value)).toBe(text)
})

test('a number of digits that is asked for counts', () => {
  expect(number(0.00042, { maximumFractionDigits: 1 })).toBe('0')
  expect(number(0.123456, { style: 'percent', maximumFractionDigits: 1 })).toBe('12.3%')
  expect(number(0.00042123, { maximumSignificantDigits: 4 })).toBe('0.0004212')
  expect(number(12_345.6, { notation: 'compact' })).toBe('12.346k')
})
