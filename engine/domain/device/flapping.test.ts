import { expect, test } from 'vitest'
import { Micros, Millis } from '../../../schemas/ids.ts'
import { type Connects, countConnect, flapsUntil, isFlapping } from './flapping.ts'

const MINUTE = 60_000
const after = (...times: readonly number[]) =>
  times.reduce<Connects | undefined>((connects, ms) => countConnect(connects, Micros(ms * 1000)), undefined)
const at = (ms: number) => Millis(ms)

test('the fifth connect in a row is flapping, the fourth is not', () => {
  expect(isFlapping(after(1, 2, 3, 4), at(4))).toBe(false)
  expect(isFlapping(after(1, 2, 3, 4, 5), at(5))).toBe(true)
})

test('one connect is forgotten each minute, so a device that connects once a minute does not flap', () => {
  const steady = Array.from({ length: 100 }, (_, i) => i * MINUTE + 1)
  expect(isFlapping(after(...steady), at(99 * MINUTE + 1))).toBe(false)
  const hasty = Array.from({ length: 100 }, (_, i) => (i * MINUTE) / 2 + 1)
  expect(isFlapping(after(...hasty), at(50 * MINUTE))).toBe(true)
})

test('flapping ends soon after the last connect, however many there were', () => {
  const five = after(0, 0.001, 0.002, 0.003, 0.004)
  expect([isFlapping(five, at(MINUTE - 1)), isFlapping(five, at(MINUTE))]).toEqual([true, false])
  const many = after(...Array.from({ length: 1_000 }, (_, i) => i + 1))
  expect(many && flapsUntil(many)).toBe(1_000 + 6 * MINUTE)
})

test('a connect that is read again counts once', () => {
  const four = after(1, 2, 3, 4)
  expect(after(1, 2, 3, 4, 3, 4, 4)).toEqual(four)
})

test('a device that never connected does not flap', () => {
  expect(isFlapping(undefined, at(0))).toBe(false)
})
