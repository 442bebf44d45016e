import { expect, test } from 'vitest'
import { failureShare, failuresByCause } from './rollout-health.ts'

const abort = { failure_percent: 20, min_finished: 5 }

test('failures are a share of the devices that are done, and over the bound only when enough are', () => {
  expect(failureShare('install', { succeeded: 0, failed: 0, rolled_back: 0 }, abort).percent).toBeUndefined()
  expect(failureShare('install', { succeeded: 2, failed: 1, rolled_back: 1 }, abort)).toMatchObject({
    percent: 50,
    finishedCount: 4,
    isOver: false,
  })
  expect(failureShare('install', { succeeded: 4, failed: 1, rolled_back: 0 }, abort)).toMatchObject({
    percent: 20,
    isOver: true,
  })
})

test('devices that a way back has taken back are no failures of it', () => {
  const back = { succeeded: 0, failed: 0, rolled_back: 1 }
  expect(failureShare('rollback', back, abort)).toMatchObject({ percent: 0, finishedCount: 1 })
  expect(failureShare('install', back, abort)).toMatchObject({ percent: 100 })
})

test('failures are counted by their code, the most frequent first, and by what became of them without one', () => {
  const failed = (code: string) => ({ status: 'failed', error: { code } })
  expect(
    failuresByCause([
      failed('NO_SPACE'),
      { status: 'timed_out', error: null },
      failed('BAD_HASH'),
      failed('BAD_HASH'),
    ]),
  ).toEqual([
    { cause: 'BAD_HASH', count: 2 },
    { cause: 'NO_SPACE', count: 1 },
    { cause: 'timed_out', count: 1 },
  ])
})
