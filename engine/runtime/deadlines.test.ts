import { expect, test } from 'vitest'
import { Deadlines } from './deadlines.ts'

test('a sweep of 50 000 finds the due ones, also after a deadline was moved', () => {
  const deadlines = new Deadlines()
  for (let slot = 0; slot < 50_000; slot++) {
    deadlines.set(deadlines.claim(), slot)
  }
  deadlines.set(3, 60_000)
  deadlines.set(49_999, 2)
  expect(deadlines.due(5)).toEqual([0, 1, 2, 4, 5, 49_999])
  expect(deadlines.due(100_000).length).toBe(50_000)
})

test('a slot that was claimed and not set is never due', () => {
  const deadlines = new Deadlines()
  deadlines.claim()
  expect(deadlines.due(Number.MAX_SAFE_INTEGER)).toEqual([])
})
