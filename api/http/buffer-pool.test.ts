import { expect, test } from 'vitest'
import { API_LIMITS } from '../limits.ts'
import { BufferPool } from './buffer-pool.ts'

const {
  downloadPieceBytesMin: small,
  downloadPieceBytesMax: large,
  downloadPiecesBytesMax: all,
  downloadTakenBytesMin: enough,
} = API_LIMITS

test('a connection gets a large piece once it has taken enough', () => {
  const pieces = new BufferPool()
  const first = pieces.take(0)
  expect(first).toHaveLength(small)
  expect(pieces.grow(first, enough - 1)).toBe(first)
  const second = pieces.grow(first, enough)
  expect(second).toHaveLength(large)
  expect(pieces.grow(second, enough)).toBe(second)
})

test('the total size of large pieces is bounded, however many readers hold one', () => {
  const pieces = new BufferPool()
  const taken = Array.from({ length: 1_000 }, () => pieces.take(enough))
  const sizes = taken.map(({ length }) => length)
  expect(sizes).toEqual(sizes.toSorted((a, b) => b - a))
  const larger = sizes.filter((bytes) => bytes > small)
  expect(larger.length).toBeGreaterThanOrEqual(64)
  expect(larger.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(all)
  // What was given back is available to others.
  for (const piece of taken.slice(0, 100)) pieces.release(piece, false)
  expect(pieces.grow(taken.at(-1) ?? expect.fail('no piece'), enough)).toHaveLength(large)
})

test('a piece that somebody may still read from is given to nobody else', () => {
  const pieces = new BufferPool()
  const [one, two] = [pieces.take(enough), pieces.take(enough)]
  pieces.release(one, false)
  pieces.release(two, true)
  expect(pieces.take(enough)).toBe(two)
  expect(pieces.take(enough)).not.toBe(one)
})
