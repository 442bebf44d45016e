import { describe, expect, test } from 'vitest'
import { MemoryRates } from '../../engine/adapters/rates/testing/memory.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { API_LIMITS } from '../limits.ts'
import { RateShares } from '../rates/rate-shares.ts'
import { LoginLimiter } from './login-limiter.ts'

const A = { from: '192.0.2.1', account: 'a@b.c' }
const B = { from: '192.0.2.1', account: 'b@b.c' }
const ATTEMPTS = API_LIMITS.loginsPerMinuteMax

function openTwo() {
  const time = new StandingTime(0)
  const rates = new MemoryRates(time)
  const node = () => new LoginLimiter(time, new RateShares({ rates, clock: time, schedule: time }))
  const share = async () => {
    time.at += API_LIMITS.rateShareEveryMs
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { time, one: node(), other: node(), share }
}

test('attempts are limited per minute and become available again evenly', () => {
  const { time, one } = openTwo()
  for (let i = 0; i < ATTEMPTS; i++) expect(one.refuse(A)).toBeUndefined()
  expect(one.refuse(A)).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', detail: { retry_after_sec: 6 } })
  expect(one.refuse(B)).toBeUndefined()
  time.at += 6_000
  expect([one.refuse(A), one.refuse(A)?.code]).toEqual([undefined, 'RATE_LIMIT_EXCEEDED'])
})

test('attempts at one node count at the other', async () => {
  const { one, other, share } = openTwo()
  expect(other.refuse(A)).toBeUndefined()
  for (let i = 0; i < ATTEMPTS; i++) one.refuse(A)
  await share()
  expect(other.refuse(A)).toBeUndefined()
  await share()
  expect(other.refuse(A)?.code).toBe('RATE_LIMIT_EXCEEDED')
})

test('a correct password costs no attempt at any node', async () => {
  const { one, other, share } = openTwo()
  for (let i = 0; i < 3 * ATTEMPTS; i++) {
    expect(one.refuse(A)).toBeUndefined()
    if (i % 2 === 0) await share()
    one.refund(A)
    await share()
  }
  for (let i = 0; i < ATTEMPTS; i++) expect(other.refuse(A)).toBeUndefined()
  expect(other.refuse(A)?.code).toBe('RATE_LIMIT_EXCEEDED')
})

describe('tries of many networks for one account', () => {
  const from = (network: number) => ({ from: `198.51.100.${network}`, account: 'a@b.c' })
  const tryAll = (limiter: LoginLimiter) => {
    for (let i = 0; i < API_LIMITS.wrongPasswordsPerHourMax; i++)
      expect(limiter.refuse(from(i))).toBeUndefined()
  }

  test('are slowed down together after a hundred an hour', () => {
    const { time, one } = openTwo()
    tryAll(one)
    expect(one.refuse(from(200))).toMatchObject({ detail: { retry_after_sec: 36 } })
    expect(one.refuse({ ...from(200), account: 'b@b.c' })).toBeUndefined()
    time.at += 36_000
    expect([one.refuse(from(200)), one.refuse(from(201))?.code]).toEqual([undefined, 'RATE_LIMIT_EXCEEDED'])
  })

  test('do not lock out its owner at a network from which the account was entered', () => {
    const { one } = openTwo()
    expect(one.refuse(A)).toBeUndefined()
    one.succeeded(A)
    tryAll(one)
    expect(one.refuse(from(200))?.code).toBe('RATE_LIMIT_EXCEEDED')
    expect(one.refuse(A)).toBeUndefined()
  })

  test('do not lock out its owner at a network from which the account has a login of another node', () => {
    const { one } = openTwo()
    tryAll(one)
    expect(one.refuse(A)?.code).toBe('RATE_LIMIT_EXCEEDED')
    expect(one.refuse({ ...A, isKnown: true })).toBeUndefined()
  })

  test('do not include correct passwords from a new network, even if several are checked at once', () => {
    const { one } = openTwo()
    const attempts = Array.from({ length: ATTEMPTS }, () => ({ ...A }))
    for (const attempt of attempts) expect(one.refuse(attempt)).toBeUndefined()
    for (const attempt of attempts) one.succeeded(attempt)
    tryAll(one)
  })
})

test('a network has a few passwords a second hashed, whatever the accounts', () => {
  const { time, one } = openTwo()
  for (let i = 0; i < API_LIMITS.passwordsAtOnceMax; i++) expect(one.refuseHash('n')).toBeUndefined()
  expect(one.refuseHash('n')?.code).toBe('RATE_LIMIT_EXCEEDED')
  expect(one.refuseHash('other')).toBeUndefined()
  time.at += 1_000
  for (let i = 0; i < API_LIMITS.passwordsPerSecMax; i++) expect(one.refuseHash('n')).toBeUndefined()
  expect(one.refuseHash('n')?.code).toBe('RATE_LIMIT_EXCEEDED')
})
