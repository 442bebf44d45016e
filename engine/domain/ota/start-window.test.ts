import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { hasWindow, type StartWindow, windowEnd } from './start-window.ts'

const at = (text: string) => Millis(Date.parse(text))
const end = (window: Partial<StartWindow>, text: string) => {
  const found = windowEnd([{ days: [], start: '22:00', durationMin: 120, tz: 'UTC', ...window }], at(text))
  return found === undefined ? undefined : new Date(found).toISOString()
}

test('a window is open from its start to its end, over midnight as well', () => {
  expect(end({}, '2026-03-02T21:59:59Z')).toBeUndefined()
  expect(end({}, '2026-03-02T22:00:00Z')).toBe('2026-03-03T00:00:00.000Z')
  expect(end({}, '2026-03-02T23:59:59Z')).toBe('2026-03-03T00:00:00.000Z')
  expect(end({}, '2026-03-03T00:00:00Z')).toBeUndefined()
  expect(end({ durationMin: 1_440 }, '2026-03-03T21:59:59Z')).toBe('2026-03-03T22:00:00.000Z')
})

test('its day is the day on which it begins', () => {
  // A Monday.
  const window = { days: ['mon'], start: '23:00' } as const
  expect(end(window, '2026-03-02T23:30:00Z')).toBe('2026-03-03T01:00:00.000Z')
  expect(end(window, '2026-03-03T00:30:00Z')).toBe('2026-03-03T01:00:00.000Z')
  expect(end(window, '2026-03-03T23:30:00Z')).toBeUndefined()
})

test('its time is that of clocks in its place', () => {
  expect(end({ tz: 'Europe/Berlin' }, '2026-01-05T21:00:00Z')).toBe('2026-01-05T23:00:00.000Z')
  expect(end({ tz: 'Europe/Berlin' }, '2026-07-05T20:00:00Z')).toBe('2026-07-05T22:00:00.000Z')
  expect(end({ tz: 'Pacific/Kiritimati', start: '00:30' }, '2026-07-05T10:30:00Z')).toBeDefined()
})

test('a time that a change of clocks skips begins at the change, and one that comes twice is the first', () => {
  const night = { tz: 'Europe/Berlin', start: '02:30', durationMin: 10 } as const
  // Clocks go from 02:00 to 03:00 at 01:00 UTC.
  expect(end(night, '2026-03-29T00:59:59Z')).toBeUndefined()
  expect(end(night, '2026-03-29T01:00:00Z')).toBe('2026-03-29T01:10:00.000Z')
  // Clocks go from 03:00 back to 02:00 at 01:00 UTC.
  expect(end(night, '2026-10-25T00:30:00Z')).toBe('2026-10-25T00:40:00.000Z')
  expect(end(night, '2026-10-25T01:30:00Z')).toBeUndefined()
})

test('the window that lasts longest counts if several are open', () => {
  const windows = [60, 180].map((durationMin) => ({ days: [], start: '10:00', durationMin, tz: 'UTC' }))
  expect(windowEnd(windows, at('2026-03-02T10:30:00Z'))).toBe(at('2026-03-02T13:00:00Z'))
})

test('whether one opens in time is known in advance', () => {
  const windows = [{ days: ['wed'], start: '10:00', durationMin: 60, tz: 'UTC' }] as const
  expect(hasWindow(windows, at('2026-03-02T00:00:00Z'), at('2026-03-04T10:00:00Z'))).toBe(false)
  expect(hasWindow(windows, at('2026-03-02T00:00:00Z'), at('2026-03-04T10:00:01Z'))).toBe(true)
  expect(hasWindow(windows, at('2026-03-04T10:59:00Z'), at('2026-03-04T11:00:00Z'))).toBe(true)
  expect(hasWindow(windows, at('2026-03-04T11:00:00Z'), at('2027-03-04T11:00:00Z'))).toBe(true)
})
