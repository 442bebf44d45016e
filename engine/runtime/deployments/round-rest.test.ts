import { expect, test } from 'vitest'
import { RoundRest } from './round-rest.ts'

/** The rests of rounds a tenth of a second apart, each of which gives so many of 1 000 places. */
function restsOf(given: readonly number[], countedMs = 0): readonly number[] {
  const rest = new RoundRest()
  rest.counted(countedMs)
  return given.map((each, i) => {
    rest.gave(each)
    return rest.after({ places: 1_000, at: i * 100 })
  })
}

const rounds = (count: number, given: number) => new Array<number>(count).fill(given)

test('the rest is short while places are given quickly, also between two waves of devices', () => {
  expect(restsOf(rounds(100, 50)).at(-1)).toBe(50)
  const waves = Array.from({ length: 10 }, () => [1_000, ...rounds(19, 0)]).flat()
  expect(Math.max(...restsOf(waves))).toBeLessThan(100)
})

test('the rest is long while few places become free, and soon after the last was given', () => {
  expect(restsOf([0])).toEqual([500])
  expect(restsOf(rounds(100, 1)).at(-1)).toBe(500)
  expect(restsOf([1_000, ...rounds(100, 0)]).at(-1)).toBe(500)
})

test('a few places are given again sooner than many', () => {
  const rest = new RoundRest()
  const few = Array.from({ length: 50 }, (_, i) => {
    rest.gave(1)
    return rest.after({ places: 10, at: i * 200 })
  })
  expect(few.at(-1)).toBe(50)
})

test('the rest is never shorter than the last count', () => {
  expect(restsOf(rounds(100, 50), 80).at(-1)).toBe(80)
  expect(restsOf([0], 2_000)).toEqual([2_000])
})
