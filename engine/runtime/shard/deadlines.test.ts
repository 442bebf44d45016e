import { expect, test } from 'vitest'
import { Deadlines } from './deadlines.ts'

const dueIn = (deadlines: Deadlines, now: number) =>
  deadlines.due(now, { from: 0, until: deadlines.used, max: Number.POSITIVE_INFINITY })

test('a sweep of 50 000 slots finds the due ones, even after deadlines were moved', () => {
  const deadlines = new Deadlines()
  for (let slot = 0; slot < 50_000; slot++) {
    deadlines.setPresence(deadlines.claim(), slot)
  }
  deadlines.setPresence(3, 60_000)
  deadlines.setPresence(49_999, 2)
  expect(dueIn(deadlines, 5)).toEqual([0, 1, 2, 4, 5, 49_999])
  expect(dueIn(deadlines, 100_000).length).toBe(50_000)
})

test('a slot is due at the earlier of its deadlines, and is cleared once', () => {
  const deadlines = new Deadlines()
  const slot = deadlines.claim()
  deadlines.setPresence(slot, 10)
  deadlines.setOther(slot, 5)
  expect([dueIn(deadlines, 4), dueIn(deadlines, 5), dueIn(deadlines, 10)]).toEqual([[], [slot], [slot]])
  deadlines.clear(slot)
  expect(dueIn(deadlines, 10)).toEqual([])
})

test('a slot that was claimed but never set is never due', () => {
  const deadlines = new Deadlines()
  deadlines.claim()
  expect(dueIn(deadlines, Number.MAX_SAFE_INTEGER)).toEqual([])
})

test('only the requested number of due slots is found, from the start of the range', () => {
  const deadlines = new Deadlines()
  for (let slot = 0; slot < 10; slot++) deadlines.setOther(deadlines.claim(), slot)
  expect(deadlines.due(7, { from: 2, until: 10, max: 3 })).toEqual([2, 3, 4])
  expect(deadlines.due(7, { from: 5, until: 7, max: 3 })).toEqual([5, 6])
  expect(deadlines.due(7, { from: 6, until: 10, max: 3 })).toEqual([6, 7])
})
