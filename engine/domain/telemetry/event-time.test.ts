import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Micros } from '../../../schemas/ids.ts'
import { isFarOff, parseTime } from './event-time.ts'

const parse = (text: string): number => {
  const bytes = Buffer.from(text)
  return parseTime(bytes, 0, bytes.length)
}

test.each([
  ['1970-01-01T00:00:00Z', 0],
  ['2024-02-29T12:34:56Z', Date.UTC(2024, 1, 29, 12, 34, 56) * 1000],
  ['2024-02-29t12:34:56z', Date.UTC(2024, 1, 29, 12, 34, 56) * 1000],
  ['2024-02-29 12:34:56', Date.UTC(2024, 1, 29, 12, 34, 56) * 1000],
  ['2024-06-01T00:00:00.5Z', Date.UTC(2024, 5, 1) * 1000 + 500_000],
  ['2024-06-01T00:00:00.123456Z', Date.UTC(2024, 5, 1) * 1000 + 123_456],
  ['2024-06-01T00:00:00.123456999Z', Date.UTC(2024, 5, 1) * 1000 + 123_456],
  ['2024-06-01T00:00:00+05:30', Date.UTC(2024, 4, 31, 18, 30) * 1000],
  ['2024-06-01T00:00:00.25-08:00', Date.UTC(2024, 5, 1, 8) * 1000 + 250_000],
  ['2024-06-01T00:00:00+0530', Date.UTC(2024, 4, 31, 18, 30) * 1000],
  ['2024-06-01T00:00:00,5-0800', Date.UTC(2024, 5, 1, 8) * 1000 + 500_000],
  ['2024-06-01T12:34Z', Date.UTC(2024, 5, 1, 12, 34) * 1000],
  ['2024-06-01T12:34+05:30', Date.UTC(2024, 5, 1, 7, 4) * 1000],
  ['2024-06-01 12:34', Date.UTC(2024, 5, 1, 12, 34) * 1000],
  ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1) * 1000],
  ['2017-01-01T00:59:60+01:00', Date.UTC(2017, 0, 1) * 1000],
])('%s is parsed to the microsecond', (text, micros) => {
  expect(parse(text)).toBe(micros)
})

test.each([
  '',
  '1',
  '2026',
  'Jan 1 2026',
  '2026-02-30T00:00:00Z',
  '2025-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-00-01T00:00:00Z',
  '2026-01-00T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:60:00Z',
  '2026-01-01T00:00:61Z',
  '2026-01-01T00:00:60Z',
  '2026-01-01',
  '2026-01-01T00',
  '2026-01-01T00:00:',
  '2026-01-01T00:00:0',
  '2026-01-01T00:00.5Z',
  '2026-01-01T00:00:00.Z',
  '2026-01-01T00:00:00,Z',
  '2026-01-01T00:00:00+24:00',
  '2026-01-01T00:00:00+2400',
  '2026-01-01T00:00:00+0160',
  '2026-01-01T00:00:00+01:0',
  '2026-01-01T00:00:00+010',
  '2026-01-01T00:00:00+01',
  '2026-01-01T00:00:00Zx',
  '2026-01-01T00:00:00 Z',
  '+026-01-01T00:00:00Z',
  '275760-01-01T00:00:00Z',
  '２026-01-01T00:00:00Z',
])('%j is refused as a time', (text) => {
  expect(parse(text)).toBeNaN()
})

test('what follows the text of a time in a message is not read as a part of it', () => {
  const bytes = Buffer.from('2024-06-01T12:34:56')
  expect(parseTime(bytes, 0, 16)).toBe(Date.UTC(2024, 5, 1, 12, 34) * 1000)
})

test('every time in milliseconds is parsed from its own ISO text', () => {
  const from = Date.UTC(0, 0, 1) - 1900 * 365.25 * 86_400_000
  fc.assert(
    fc.property(fc.integer({ min: Math.ceil(from), max: Date.UTC(9999, 11, 31) }), (millis) => {
      const text = new Date(millis).toISOString()
      fc.pre(text.length === 24)
      expect(parse(text)).toBe(millis * 1000)
    }),
  )
})

test('a time before 2001 or more than ten minutes ahead is far off', () => {
  const now = Micros(Date.UTC(2026, 0, 1) * 1000)
  expect(isFarOff(Date.UTC(2000, 11, 31, 23, 59, 59) * 1000, now)).toBe(true)
  expect(isFarOff(Date.UTC(2001, 0, 1) * 1000, now)).toBe(false)
  expect(isFarOff(now + 600_000_000, now)).toBe(false)
  expect(isFarOff(now + 600_000_001, now)).toBe(true)
})
