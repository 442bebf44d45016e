import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Throttle } from './throttle.ts'

test('the first value is sent at once, and the newest of the following ones at the end of the interval', () => {
  const throttle = new Throttle<string>(100)
  expect(throttle.offer('a', 1_000)).toBe('send')
  expect(throttle.offer('b', 1_010)).toBe('held')
  expect(throttle.offer('c', 1_090)).toBe('replaced')
  expect(throttle.dueAt).toBe(1_100)
  expect(throttle.take(1_099)).toBeUndefined()
  expect(throttle.take(1_100)).toBe('c')
  expect(throttle.dueAt).toBeUndefined()
  expect(throttle.offer('d', 1_199)).toBe('held')
})

test('without an interval every value is sent at once', () => {
  const throttle = new Throttle<number>(0)
  expect([1, 2, 3].map((value) => throttle.offer(value, 5))).toEqual(['send', 'send', 'send'])
})

test('sent values are always at least an interval apart, and the last value is sent', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(250), { minLength: 1, maxLength: 100 }), (gaps) => {
      const throttle = new Throttle<number>(100)
      const sent: { readonly value: number; readonly at: number }[] = []
      let now = 0
      const takeDue = () => {
        const due = throttle.dueAt
        if (due === undefined || due > now) return
        const value = throttle.take(due)
        if (value !== undefined) sent.push({ value, at: due })
      }
      for (const [value, gap] of gaps.entries()) {
        now += gap
        takeDue()
        if (throttle.offer(value, now) === 'send') sent.push({ value, at: now })
      }
      now += 100
      takeDue()
      expect(sent.at(-1)?.value).toBe(gaps.length - 1)
      for (const [n, { at }] of sent.entries())
        expect(at - (sent[n - 1]?.at ?? Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(100)
    }),
  )
})
