import { expect, test } from 'vitest'
import type { JobStatus } from '../../../../schemas/vocabulary.ts'
import type { Move, Order, Recording, Rollout } from '../recording.ts'
import { checkRollouts } from './rollouts.ts'
import { recordingOf, textsOf } from './testing/recording.ts'

const DEPLOYMENT = 'dep_1'

function order(seq: number, more: Partial<Order> = {}): Order {
  return { device: 'a', deployment: DEPLOYMENT, action: 'install', attempt: 1, seq, at: seq, ...more }
}

/** Statuses of a device with their times. */
function moves(
  device: string,
  ...steps: readonly (readonly [number, JobStatus, number?])[]
): readonly Move[] {
  return steps.map(([at, status, attempt = 1]) => ({ device, status, attempt, at }))
}

const WELL = moves('a', [0, 'pending', 0], [1, 'notified'], [2, 'confirming'], [3, 'succeeded'])

function check(
  rollout: Partial<Rollout> = {},
  more: Partial<Omit<Recording, 'stored'>> = {},
): readonly string[] {
  const recording = recordingOf({
    ...{ kinds: { a: 'ok' }, running: { a: '2.0' }, orders: [order(1)] },
    boots: [{ device: 'a', version: '2.0', at: 2 }],
    rollouts: [
      {
        ...{ deployment: DEPLOYMENT, version: '2.0', status: 'completed', isFinished: true },
        ...{ places: 1, attemptsMax: 3, moves: WELL },
        jobs: [{ device: 'a', status: 'succeeded', attempt: 1 }],
        ...rollout,
      },
    ],
    ...more,
  })
  return textsOf(checkRollouts(recording))
}

test('a rollout in which all went well has no violation', () => {
  expect(check()).toEqual([])
})

test('a rollout or a job that does not end is a violation, which may only be late', () => {
  expect(check({ isFinished: false, status: 'in_progress' })).toEqual([
    'dep_1 is in_progress and does not finish',
  ])
  const jobs = [{ device: 'a', status: 'installing', attempt: 1 }] as const
  expect(check({ jobs }, { running: {} })).toEqual(['its job of dep_1 is installing'])
  expect(check({ jobs: [] })).toEqual(['has no job in dep_1'])
})

test('a device that runs the version has succeeded, and no other', () => {
  const failed = [{ device: 'a', status: 'failed', attempt: 1, error: 'UNSTABLE' }] as const
  expect(check({ jobs: failed })).toEqual(['runs 2.0, and its job of dep_1 is failed'])
  expect(check({}, { running: { a: '1.0' } })).toEqual(['succeeded in dep_1, and runs 1.0'])
  expect(check({}, { boots: [] })).toEqual(['succeeded without ever running 2.0'])
})

test('a device ends as its behaviour demands', () => {
  const jobs = [{ device: 'a', status: 'timed_out', attempt: 1, error: 'TIMED_OUT_REBOOT' }] as const
  expect(check({ jobs }, { running: {} })).toEqual(['(ok) ended timed_out TIMED_OUT_REBOOT in dep_1'])
})

test('more jobs at once than there are places are a violation, and one that follows another is none', () => {
  const jobs = ['a', 'b'].map((device) => ({ device, status: 'succeeded', attempt: 1 }) as const)
  const more: Partial<Omit<Recording, 'stored'>> = {
    kinds: { a: 'ok', b: 'ok' },
    running: { a: '2.0', b: '2.0' },
    boots: ['a', 'b'].map((device) => ({ device, version: '2.0', at: 2 })),
  }
  const next = moves('b', [0, 'pending', 0], [3, 'notified'], [4, 'succeeded'])
  expect(check({ jobs, moves: [...WELL, ...next] }, more)).toEqual([])
  const early = moves('b', [0, 'pending', 0], [2, 'notified'], [4, 'succeeded'])
  expect(check({ jobs, moves: [...WELL, ...early] }, more)).toEqual(['is number 2 at once in dep_1, of 1'])
})

test('clocks that differ make no violation of what lies within their difference', () => {
  const jobs = ['a', 'b'].map((device) => ({ device, status: 'succeeded', attempt: 1 }) as const)
  const boots = ['a', 'b'].map((device) => ({ device, version: '2.0', at: 2 }))
  const running = { a: '2.0', b: '2.0' }
  const promises = { isPubackDurable: true, brokerLossMs: 0, isFeedLossless: false, clockSkewMs: 10 }
  const more = { kinds: { a: 'ok', b: 'ok' }, running, boots, promises } as const
  const judged = (moveOfA: number) => {
    const first = moves('a', [0, 'downloaded'], [30, 'succeeded'], [moveOfA, 'downloading'])
    return check({ jobs, moves: [...first, ...moves('b', [60, 'downloading'], [90, 'succeeded'])] }, more)
  }
  expect(judged(39)).toEqual([])
  expect(judged(41)).toEqual(['is number 2 at once in dep_1, of 1'])
  const close = [
    ...moves('a', [0, 'downloading'], [30, 'succeeded']),
    ...moves('b', [21, 'downloading'], [90, 'succeeded']),
  ]
  expect(check({ jobs, moves: close }, more)).toEqual([])
})

test('a message with an earlier number, or of an attempt that the job does not have, is a violation', () => {
  expect(check({}, { orders: [order(2), order(2)] })).toEqual(['was sent message 2 after 2'])
  expect(check({}, { orders: [order(1), order(2, { attempt: 2 })] })).toEqual([
    'was ordered attempt 2 of dep_1, saved is 1',
  ])
})

test('an attempt begins after the one before was given up, and there are no more than were asked for', () => {
  const jobs = [{ device: 'a', status: 'succeeded', attempt: 2 }] as const
  const again = moves('a', [1, 'notified'], [2, 'pending'], [3, 'notified', 2], [4, 'succeeded', 2])
  expect(check({ jobs, moves: again })).toEqual([])
  const twice = moves('a', [1, 'notified'], [3, 'downloading', 2], [4, 'succeeded', 2])
  expect(check({ jobs, moves: twice })).toEqual(['began attempt 2 of dep_1 in notified'])
  const ahead = (givenUpAt: number) =>
    check(
      {
        jobs,
        moves: moves('a', [1, 'notified'], [3, 'notified', 2], [givenUpAt, 'pending'], [20, 'succeeded', 2]),
      },
      { promises: { isPubackDurable: true, brokerLossMs: 0, isFeedLossless: false, clockSkewMs: 10 } },
    )
  expect(ahead(12)).toEqual([])
  expect(ahead(13)).toEqual(['began attempt 2 of dep_1 in notified'])
  expect(check({ jobs: [{ device: 'a', status: 'succeeded', attempt: 4 }] })).toEqual([
    'had 4 attempts in dep_1',
  ])
})
