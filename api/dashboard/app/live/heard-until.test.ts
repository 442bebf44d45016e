import { expect, test } from 'vitest'
import { heardUntilMs } from './heard-until.ts'

const MINUTE_MS = 60_000
/** The service's clock is an hour ahead of the browser's. */
const times = { nowMs: 100 * MINUTE_MS, browserMs: 40 * MINUTE_MS }

test('while the service is heard its time goes on', () => {
  expect(heardUntilMs({ state: 'live' }, times)).toBe(100 * MINUTE_MS)
})

test('time stands still for cases from when the service was heard last', () => {
  const since = 25 * MINUTE_MS
  expect(heardUntilMs({ state: 'away', since, retryAt: 0 }, times)).toBe(85 * MINUTE_MS)
  expect(heardUntilMs({ state: 'silent', since }, times)).toBe(85 * MINUTE_MS)
})
