import { expect, test } from 'vitest'
import { Micros, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { SimTime } from '../../testing/time.ts'
import { ReceiveClock } from './receive-clock.ts'

const START = Millis(Date.UTC(2026, 0, 5))

/** Receive clocks of nodes whose clocks are this many milliseconds ahead. */
function clocks(time: SimTime, ...skews: readonly number[]) {
  return skews.map(
    (skew) =>
      new ReceiveClock(
        { now: () => Millis(time.now() + skew), ticks: () => time.ticks() },
        Micros(START * 1000),
      ),
  ) as [ReceiveClock, ReceiveClock]
}

test('a device that moves from a node whose clock is ahead still gets later times (RC1)', async () => {
  const time = new SimTime(START)
  const [ahead, behind] = clocks(time, 400, -400)
  await time.advance(5_000)
  const last = ahead.nextAt()
  expect(behind.nextAt()).toBeLessThan(last)
  behind.follow(ahead.now())
  expect(behind.nextAt()).toBeGreaterThan(last)
  expect(behind.now()).toBeGreaterThanOrEqual(ahead.now())
})

test('times stay ahead of the clock that was followed until a dead node’s lease has ended', async () => {
  const time = new SimTime(START)
  const [ahead, behind] = clocks(time, 400, -400)
  behind.follow(ahead.now())
  await time.advance(LIMITS.ownershipLeaseMs)
  const last = ahead.nextAt()
  await time.advance(LIMITS.ownershipSilenceMs - LIMITS.ownershipLeaseMs)
  behind.advance()
  expect(behind.nextAt()).toBeGreaterThan(last)
})

test('times after a restart begin with a later millisecond than the log’s, even if the clock was set back', () => {
  const time = new SimTime(Millis(START - 3_600_000))
  const clock = new ReceiveClock(time, Micros(START * 1000 + 42))
  expect(clock.nextAt()).toBe((START + 1) * 1000)
})

test('a lead shrinks to nothing, and a clock that is far ahead is not followed', async () => {
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
