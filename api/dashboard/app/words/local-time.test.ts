import { afterEach, expect, test } from 'vitest'
import { localMs, localText } from './local-time.ts'
import { timeZone } from './time.ts'

afterEach(() => {
  timeZone.value = undefined
})

test.each([
  ['Asia/Tokyo', '2026-03-01T14:03:05', '2026-03-01T05:03:05.000Z'],
  ['America/New_York', '2026-01-01T00:00:00', '2026-01-01T05:00:00.000Z'],
  ['Europe/Berlin', '2026-03-29T01:59:59', '2026-03-29T00:59:59.000Z'],
  ['Europe/Berlin', '2026-03-29T03:00:00', '2026-03-29T01:00:00.000Z'],
  ['Europe/Berlin', '2026-10-25T01:59:59', '2026-10-24T23:59:59.000Z'],
  ['Europe/Berlin', '2026-10-25T03:00:00', '2026-10-25T02:00:00.000Z'],
])('a time of %s that is typed is the one that is shown', (zone, text, instant) => {
  timeZone.value = zone
  expect(new Date(localMs(text)).toISOString()).toBe(instant)
  expect(localText(Date.parse(instant))).toBe(text)
})

test('a time that the clock skips is an hour later', () => {
  timeZone.value = 'Europe/Berlin'
  expect(localText(localMs('2026-03-29T02:30'))).toBe('2026-03-29T03:30:00')
})

test.each(['0002-05-01T10:00:00', '0202-05-01T10:00:00', '20261-05-01T10:00:00'])(
  'the year of a time may be typed digit by digit: %s is an instant',
  (text) => {
    for (const zone of ['UTC', 'Europe/Berlin', 'America/New_York']) {
      timeZone.value = zone
      expect(localText(localMs(text))).toBe(text)
    }
  },
)

test('what is no time is none', () => {
  expect(localMs('')).toBeNaN()
})
