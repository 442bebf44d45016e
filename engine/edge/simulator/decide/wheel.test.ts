import { expect, test } from 'vitest'
import { Wheel } from './wheel.ts'

const named = (name: string, dueAt: number) => ({ name, dueAt })
const names = (due: readonly { name: string }[]) => due.map(({ name }) => name)

test('a task becomes due once, in its slot, and a task in the past becomes due at once', () => {
  const wheel = new Wheel<{ name: string; dueAt: number }>(20, 1_000)
  for (const task of [named('b', 1_050), named('a', 1_020), named('past', 5), named('c', 1_061)])
    wheel.add(task)
  expect(names(wheel.advance(1_019))).toEqual([])
  expect(names(wheel.advance(1_020)).sort()).toEqual(['a', 'past'])
  expect(names(wheel.advance(1_060))).toEqual(['b'])
  expect(names(wheel.advance(1_080))).toEqual(['c'])
  expect(wheel.advance(10_000)).toEqual([])
})

test('a task that is more than one revolution away waits for its revolution', () => {
  const wheel = new Wheel<{ name: string; dueAt: number }>(20, 0)
  wheel.add(named('late', 200_000))
  wheel.add(named('soon', 200_000 % (4_096 * 20)))
  const seen: string[] = []
  for (let now = 0; now <= 199_980; now += 20) seen.push(...names(wheel.advance(now)))
  expect(seen).toEqual(['soon'])
  expect(names(wheel.advance(200_000))).toEqual(['late'])
})

test('after a pause of more than a revolution each task becomes due exactly once', () => {
  const wheel = new Wheel<{ name: string; dueAt: number }>(20, 0)
  for (let at = 0; at < 100; at++) wheel.add(named(String(at), at * 3_000))
  expect(wheel.advance(1_000_000)).toHaveLength(100)
  expect(wheel.advance(2_000_000)).toEqual([])
})
