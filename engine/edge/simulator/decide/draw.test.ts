import { expect, test } from 'vitest'
import { draw, hashOf, permutation, shareOf } from './draw.ts'

test('a draw depends only on the seed, the decision, the device and the number of earlier draws', () => {
  const first = draw(7, 1, 2, 3)
  expect(draw(7, 1, 2, 3)).toBe(first)
  for (const other of [draw(8, 1, 2, 3), draw(7, 2, 2, 3), draw(7, 1, 3, 3), draw(7, 1, 2, 4)])
    expect(other).not.toBe(first)
})

test('draws are uniform, both over devices and over repetitions', () => {
  const tenths = (numbers: readonly number[]) => {
    const counts = Array.from({ length: 10 }, () => 0)
    for (const number of numbers) counts[Math.floor(number * 10)] = (counts[Math.floor(number * 10)] ?? 0) + 1
    return counts
  }
  const devices = Array.from({ length: 10_000 }, (_, device) => draw(1, hashOf('x'), device, 0))
  const times = Array.from({ length: 10_000 }, (_, nth) => draw(1, hashOf('x'), 5, nth))
  for (const count of [...tenths(devices), ...tenths(times)])
    expect(Math.abs(count - 1_000)).toBeLessThan(150)
})

test('shares of a type are exact, and the seed decides which devices they contain', () => {
  const kindsOf = (seed: number) => {
    const shares = [
      { percent: 10, kind: 'brick' },
      { percent: 25, kind: 'slow' },
    ]
    return [...permutation(seed, 1, 40)].map((place) => shareOf(shares, place, 40)?.kind ?? 'ok')
  }
  const count = (kind: string) => kindsOf(3).filter((each) => each === kind).length
  expect([count('brick'), count('slow'), count('ok')]).toEqual([4, 10, 26])
  expect(kindsOf(3)).toEqual(kindsOf(3))
  expect(kindsOf(4)).not.toEqual(kindsOf(3))
})
