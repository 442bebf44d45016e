import { expect, test } from 'vitest'
import { LIMITS } from '../limits.ts'
import { Throughput } from './throughput.ts'

test('rates cover the last seconds only', () => {
  const pace = new Throughput()
  pace.sample(0)
  expect(pace.now()).toEqual({ messagesPerSec: 0, pointsPerSec: 0, insertP99Ms: undefined })
  pace.worked(100, 800)
  pace.sample(2_000)
  expect(pace.now()).toMatchObject({ messagesPerSec: 50, pointsPerSec: 400 })
  for (let i = 1; i <= LIMITS.paceLooksMax; i++) pace.sample(2_000 + i * 1_000)
  expect(pace.now()).toMatchObject({ messagesPerSec: 0, pointsPerSec: 0 })
})

test('one slow insert in a hundred does not move the p99, two do, and old inserts are forgotten', () => {
  const pace = new Throughput()
  for (let i = 0; i < 99; i++) pace.inserted(10)
  pace.inserted(900)
  expect(pace.now().insertP99Ms).toBe(10)
  pace.inserted(900)
  expect(pace.now().insertP99Ms).toBe(900)
  for (let i = 0; i < LIMITS.paceInsertsMax; i++) pace.inserted(20)
  expect(pace.now().insertP99Ms).toBe(20)
})
