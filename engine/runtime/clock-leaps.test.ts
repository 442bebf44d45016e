import { expect, test } from 'vitest'
import { Millis } from '../../schemas/ids.ts'
import { leaptSince } from '../domain/leap.ts'
import { SimTime } from '../testing/time.ts'
import { ClockLeaps } from './clock-leaps.ts'

const HOUR_MS = 3_600_000

test('a timer that begins between a leap and its measurement does not wait for the leap to pass', async () => {
  const time = new SimTime(Millis(1_000_000))
  const leaps = new ClockLeaps(time)
  const before = time.now()
  await time.advance(100)
  time.set(HOUR_MS)
  const between = time.now()
  await time.advance(100)
  expect(leaps.measure().leaptMs).toBe(HOUR_MS)
  const after = time.now()
  expect([before, between, after].map((from) => leaptSince(from, leaps.all))).toEqual([HOUR_MS, 0, 0])
})
