import { expect, test } from 'vitest'
import { RouteWatch } from './route-watch.ts'

test('a silence begins once; the remedies are three subscriptions, a new socket, then a subscription every five minutes', () => {
  const watch = new RouteWatch(30_000, 0)
  expect(watch.check(29_999)).toBeUndefined()
  expect(watch.check(30_000)).toEqual({ remedy: 'subscribe', began: true })
  expect(watch.check(59_999)).toBeUndefined()
  expect(watch.check(60_000)).toEqual({ remedy: 'subscribe', began: false })
  expect(watch.check(90_000)).toEqual({ remedy: 'subscribe', began: false })
  expect(watch.check(120_000)).toEqual({ remedy: 'reopen', began: false })
  expect(watch.check(419_999)).toBeUndefined()
  expect(watch.check(420_000)).toEqual({ remedy: 'subscribe', began: false })
  expect(watch.isStale).toBe(true)
})

test('the next message ends the silence, and a new silence is detected again', () => {
  const watch = new RouteWatch(30_000, 0)
  watch.check(30_000)
  expect(watch.heard(31_000)).toBe(true)
  expect(watch.heard(31_001)).toBe(false)
  expect(watch.isStale).toBe(false)
  expect(watch.check(61_000)).toBeUndefined()
  expect(watch.check(61_001)).toEqual({ remedy: 'subscribe', began: true })
})

test('a route without a timeout may be silent', () => {
  expect(new RouteWatch(0, 0).check(Number.MAX_SAFE_INTEGER)).toBeUndefined()
})
