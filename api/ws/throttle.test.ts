import { describe, expect, test } from 'vitest'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { Budget } from './budget.ts'
import type { Notice } from './notice.ts'
import { openTally } from './tally.ts'
import { id, START } from './testing/socket-service.ts'
import { Throttle } from './throttle.ts'

function openThrottle(budgetBytes = 10_000, maySee: (notice: Notice) => boolean = () => true) {
  const time = new StandingTime(0)
  const budget = new Budget(budgetBytes)
  const sent: string[] = []
  let missed = 0
  const throttle = new Throttle(1_000, {
    clock: time,
    schedule: time,
    budget,
    tally: openTally(),
    send: ({ tail }) => sent.push(`${time.ticks()} ${tail}`),
    countMissed: () => {
      missed += 1
    },
    flush: () => {},
    maySee,
  })
  return { time, budget, sent, throttle, missed: () => missed }
}

function notice(device: string, tail: string): Notice {
  const event = { kind: 'telemetry', deviceId: id(device), at: START, data: {}, seq: 1 } as const
  return { event, deviceId: event.deviceId, at: START, tail, fields: undefined }
}

describe('a throttle', () => {
  test('leaves out the last word of a device that is out of sight by then', () => {
    const hidden = new Set<string>()
    const { time, budget, sent, throttle } = openThrottle(
      10_000,
      ({ deviceId }) => !hidden.has(deviceId ?? ''),
    )
    for (const device of ['a', 'b']) for (const n of [1, 2]) throttle.take(notice(device, `${device}${n}`))
    hidden.add('a')
    time.at += 1_000
    expect(sent).toEqual(['0 a1', '0 b1', '1000 b2'])
    time.at += 2_000
    throttle.take(notice('c', 'c1'))
    throttle.close()
    expect(budget.used).toBe(0)
  })

  test('lets each device speak once per interval, its last word at the end', () => {
    const { time, sent, throttle } = openThrottle()
    for (let i = 0; i < 25; i++) {
      throttle.take(notice('a', `a${i}`))
      if (i === 3) throttle.take(notice('b', 'b'))
      time.at += 100
    }
    expect(sent).toEqual(['0 a0', '300 b', '1000 a9', '2000 a19'])
    for (const ms of [500, 9_500]) time.at += ms
    expect(sent.slice(4)).toEqual(['3000 a24'])
  })

  test('without room counts what it leaves out, and gives everything back', () => {
    const { time, budget, sent, throttle, missed } = openThrottle(300)
    for (const device of ['a', 'b', 'c']) throttle.take(notice(device, device))
    throttle.take(notice('a', 'x'.repeat(100)))
    expect(sent).toEqual(['0 a', '0 b'])
    expect(missed()).toBe(2)
    time.at += 1_000
    throttle.take(notice('c', 'c'))
    expect(sent).toEqual(['0 a', '0 b', '1000 c'])
    throttle.close()
    expect(budget.used).toBe(0)
    expect(time.waiting).toBe(0)
  })

  test('keeps nothing of devices that fell silent', () => {
    const { time, budget, throttle } = openThrottle(100_000)
    for (let i = 0; i < 100; i++) {
      throttle.take(notice(`dev-${i}`, 'x'))
      time.at += 500
    }
    expect(budget.used).toBeLessThan(5 * 200)
  })
})
