import { expect, test } from 'vitest'
import { duration } from './time.ts'

test.each([
  [0, '0 secs'],
  [90, '0 secs'],
  [12_345, '12 secs'],
  [60_000, '1 min'],
  [90_000, '1 min 30 secs'],
  [5_400_000, '1 hr 30 mins'],
  [3_600_000 + 59_999, '1 hr'],
  [86_400_000, '1 day'],
  [2 * 86_400_000 + 3 * 3_600_000, '2 days 3 hrs'],
])('a duration of %i ms is shown as %s', (ms, shown) => {
  expect(duration(ms)).toBe(shown)
})
