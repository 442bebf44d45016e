import { expect, test } from 'vitest'
import { readTimes } from './time-filter.ts'

test('times before now and instants are read, each alone or both', () => {
  expect(readTimes('-24h', '')).toEqual({ from: '-24h' })
  expect(readTimes('', '2026-03-01T08:30:00Z')).toEqual({ to: '2026-03-01T08:30:00.000Z' })
  expect(readTimes('2026-03-01', '-15m')).toEqual({ from: '2026-03-01T00:00:00.000Z', to: '-15m' })
})

test('what is no time is left out', () => {
  for (const text of ['', 'soon', '-1y', '1; DROP TABLE', '-99999h', '12', '2026-99-99'])
    expect(readTimes(text, text)).toEqual({})
})
