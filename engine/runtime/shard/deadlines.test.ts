import { expect, test } from 'vitest'
import { Deadlines } from './deadlines.ts'

test('a sweep of 50 000 finds the due ones, also after a deadline was moved', () => {
  const deadlines = new Deadlines()
  for (let slot = 0; slot < 50_000; slot++) {
    deadlines.setPresence(deadlines.claim(), slot)
  }
  deadlines.setPresence(3, 60_000)
  deadlines.setPresence(49_999, 2)
  expect(deadlines.due(5)).toEqual([0, 1, 2, 4, 5, 49_999])
  expect(deadlines.due(100_000).length).toBe(50_000)
})

test('a slot is due for whichever of its deadlines comes first, once', () => {
  const deadlines = new Deadlines()
  const slot = deadlines.claim()
  deadlines.setPresence(slot, 10)
  deadlines.setOther(slot, 5)
  expect([deadlines.due(4), deadlines.due(5), deadlines.due(10)]).toEqual([[], [slot], [slot]])
  deadlines.clear(slot)
  expect(deadlines.due(10)).toEqual([])
})

test('a slot that was claimed and not set is never due', () => {
  const deadlines = new Deadlines()
  deadlines.claim()
  expect(deadlines.due(Number.MAX_SAFE_INTEGER)).toEqual([])
})
