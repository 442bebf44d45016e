import { expect, test } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { Bursts } from './bursts.ts'

/** Simulates a socket that receives messages at these times. */
function open(arrivals: readonly number[]) {
  const clock = new FakeClock(0)
  const reads: (readonly [at: number, messages: number])[] = []
  let waiting = 0
  let isPaused = false
  let afterReading: (() => void) | undefined
  const read = () => {
    if (isPaused || waiting === 0) return
    reads.push([clock.now(), waiting])
    for (; waiting > 0; waiting--) bursts.heard()
  }
  const bursts = new Bursts({
    clock,
    pause: () => {
      isPaused = true
    },
    resume: () => {
      isPaused = false
    },
    afterReading: (run) => {
      afterReading = run
    },
  })
  for (const at of arrivals) {
    clock.after(at, () => {
      waiting++
      read()
    })
  }
  const pass = (ms: number) => {
    for (let n = 0; n < ms; n++) {
      clock.pass(1)
      read()
      const run = afterReading
      afterReading = undefined
      run?.()
    }
  }
  return { bursts, clock, reads, pass, isPaused: () => isPaused }
}

test('a single message is read at once', () => {
  const { reads, pass } = open([5, 25, 45])
  pass(100)
  expect(reads).toEqual([
    [5, 1],
    [25, 1],
    [45, 1],
  ])
})

test('messages in quick succession are read together, until a single one arrives again', () => {
  const { reads, pass } = open([1, 3, 5, 10, 20, 28, 30, 40, 50, 53, 70, 90])
  pass(100)
  expect(reads).toEqual([
    [1, 1],
    [3, 1],
    [28, 4],
    [53, 4],
    [78, 1],
    [90, 1],
  ])
})

test('a closed socket is not read again', () => {
  const { bursts, pass, reads, isPaused } = open([1, 2, 5])
  pass(2)
  bursts.stop()
  pass(50)
  expect([reads.length, isPaused()]).toEqual([2, true])
})

test('a clock that was set back holds no message back', () => {
  const { bursts, clock, pass, isPaused } = open([1])
  pass(1)
  clock.pass(-3_600_000)
  bursts.heard()
  expect(isPaused()).toBe(false)
})
