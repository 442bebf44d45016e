import { expect, test } from 'vitest'
import { MemoryRates } from '../../engine/adapters/rates/testing/memory.ts'
import { API_LIMITS } from '../limits.ts'
import { RateShares } from '../rates/rate-shares.ts'
import { FakeTime } from '../ws/testing/fake-fleet.ts'
import { LoginLimiter } from './login-limiter.ts'

const ATTEMPTS = API_LIMITS.loginsPerMinuteMax

function openTwo() {
  const time = new FakeTime()
  const rates = new MemoryRates(time)
  const node = () => new LoginLimiter(time, new RateShares({ rates, clock: time, schedule: time }))
  const share = async () => {
    time.pass(API_LIMITS.rateShareEveryMs)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { time, one: node(), other: node(), share }
}

test('attempts are limited per minute and become available again evenly', () => {
  const { time, one } = openTwo()
  for (let i = 0; i < ATTEMPTS; i++) expect(one.refuse('a')).toBeUndefined()
  expect(one.refuse('a')).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', detail: { retry_after_sec: 6 } })
  expect(one.refuse('b')).toBeUndefined()
  time.pass(6_000)
  expect([one.refuse('a'), one.refuse('a')?.code]).toEqual([undefined, 'RATE_LIMIT_EXCEEDED'])
})

test('attempts at one node count at the other', async () => {
  const { one, other, share } = openTwo()
  expect(other.refuse('a')).toBeUndefined()
  for (let i = 0; i < ATTEMPTS; i++) one.refuse('a')
  await share()
  expect(other.refuse('a')).toBeUndefined()
  await share()
  expect(other.refuse('a')?.code).toBe('RATE_LIMIT_EXCEEDED')
})

test('a correct password costs no attempt at any node', async () => {
  const { one, other, share } = openTwo()
  for (let i = 0; i < 3 * ATTEMPTS; i++) {
    expect(one.refuse('a')).toBeUndefined()
    if (i % 2 === 0) await share()
    one.giveBack('a')
    await share()
  }
  for (let i = 0; i < ATTEMPTS; i++) expect(other.refuse('a')).toBeUndefined()
  expect(other.refuse('a')?.code).toBe('RATE_LIMIT_EXCEEDED')
})
