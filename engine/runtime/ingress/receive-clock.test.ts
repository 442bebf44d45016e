import { expect, test } from 'vitest'
import { Micros, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { SimTime } from '../../testing/time.ts'
import { ReceiveClock } from './receive-clock.ts'

const START = Millis(Date.UTC(2026, 0, 5))

/** Receive clocks of nodes whose clocks are ahead by so many milliseconds. */
function clocks(time: SimTime, ...skews: readonly number[]) {
  return skews.map(
    (skew) =>
      new ReceiveClock(
        { now: () => Millis(time.now() + skew), ticks: () => time.ticks() },
        Micros(START * 1000),
      ),
  ) as [ReceiveClock, ReceiveClock]
}

test('a device that comes from a node whose clock is ahead gets later times (RC1)', async () => {
  const time = new SimTime(START)
  const [ahead, behind] = clocks(time, 400, -400)
  await time.advance(5_000)
  const last = ahead.nextAt()
  expect(behind.nextAt()).toBeLessThan(last)
  behind.follow(ahead.now())
  expect(behind.nextAt()).toBeGreaterThan(last)
  expect(behind.now()).toBeGreaterThanOrEqual(ahead.now())
})

test('times go on with the clock that was followed, as far as a lease reaches', async () => {
  const time = new SimTime(START)
  const [ahead, behind] = clocks(time, 400, -400)
  behind.follow(ahead.now())
  await time.advance(LIMITS.ownershipLeaseMs)
  const last = ahead.nextAt()
  await time.advance(LIMITS.ownershipSilenceMs - LIMITS.ownershipLeaseMs)
  behind.advance()
  expect(behind.nextAt()).toBeGreaterThan(last)
})

test('times of a new start lie in a later millisecond than the log, though the clock was set back', () => {
  const time = new SimTime(Millis(START - 3_600_000))
  const clock = new ReceiveClock(time, Micros(START * 1000 + 42))
  expect(clock.nextAt()).toBe((START + 1) * 1000)
})

test('a lead ends some time after the clock that caused it is right again, and a wrong clock is not followed', async () => {
  const time = new SimTime(START)
  const [clock] = clocks(time, 0)
  clock.follow(Millis(time.now() + LIMITS.clockLeadMsMax + 1_000))
  expect(clock.now()).toBe(time.now())
  clock.follow(Millis(time.now() + 1_000))
  expect(clock.now()).toBe(time.now() + 1_001)
  for (let s = 0; s < 101; s++) {
    await time.advance(1_000)
    clock.advance()
  }
  expect(clock.now()).toBe(time.now())
})
