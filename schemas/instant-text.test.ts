import { expect, test } from 'vitest'
import { Millis, toIso } from './ids.ts'
import { parseInstant, RELATIVE_PATTERN } from './instant-text.ts'

const NOW = Millis(Date.UTC(2026, 2, 1, 12, 0, 0, 500))
const read = (text: string) => {
  const at = parseInstant(text, NOW)
  return at === undefined ? undefined : toIso(at)
}

test.each([
  ['2026-03-01', '2026-03-01T00:00:00.000Z'],
  ['2026-03-01T08:30', '2026-03-01T08:30:00.000Z'],
  ['2026-03-01t08:30:15,25z', '2026-03-01T08:30:15.250Z'],
  ['2026-03-01T08:30:00+01:00', '2026-03-01T07:30:00.000Z'],
  ['2026-03-01T08:30:00 0100', '2026-03-01T07:30:00.000Z'],
  ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
  ['0050-03-01T00:00:00Z', '0050-03-01T00:00:00.000Z'],
  ['1772366400500', '2026-03-01T12:00:00.500Z'],
])('%s is the time %s', (text, iso) => expect(read(text)).toBe(iso))

test.each([
  ['now', '2026-03-01T12:00:00.500Z'],
  ['-90s', '2026-03-01T11:58:30.500Z'],
  ['-15m', '2026-03-01T11:45:00.500Z'],
  ['now-2h', '2026-03-01T10:00:00.500Z'],
  ['7d', '2026-02-22T12:00:00.500Z'],
  ['-1w', '2026-02-22T12:00:00.500Z'],
])('%s counts back from the present', (text, iso) => {
  expect(read(text)).toBe(iso)
  expect(text).toMatch(new RegExp(RELATIVE_PATTERN))
})

test.each([
  '',
  'soon',
  '15',
  '-15',
  'm',
  '+1h',
  '-1.5h',
  'now+1h',
  '2026-02-30',
  '2026-03-01T24:00',
  '2h30m',
])('"%s" is no time', (text) => expect(read(text)).toBeUndefined())
