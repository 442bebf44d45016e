import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Operation, outOfOrder } from './real-time.ts'

const operation = (from: number, to: number, place: number): Operation => ({
  label: `${place}`,
  from,
  to,
  place,
})

test('overlapping operations may have any order', () => {
  expect(outOfOrder([operation(0, 10, 2), operation(5, 15, 1)])).toEqual([])
})

test('an operation that began after another ended has no earlier place', () => {
  const [earlier, later] = [operation(0, 4, 2), operation(5, 15, 1)]
  expect(outOfOrder([later, earlier])).toEqual([{ earlier, later }])
})

test('an operation without an end may have any later place', () => {
  expect(outOfOrder([operation(0, Number.POSITIVE_INFINITY, 9), operation(5, 15, 1)])).toEqual([])
})

/** Compares every pair. */
function bruteForce(operations: readonly Operation[]): boolean {
  return operations.some((a) => operations.some((b) => a.to < b.from && a.place > b.place))
}

test('a violation is found exactly if some pair is out of order', () => {
  const arbitrary = fc.record({ from: fc.nat(20), lasts: fc.nat(8), place: fc.nat(6) })
  fc.assert(
    fc.property(fc.array(arbitrary, { maxLength: 8 }), (drawn) => {
      const operations = drawn.map(({ from, lasts, place }) => operation(from, from + lasts, place))
      expect(outOfOrder(operations).length > 0).toBe(bruteForce(operations))
    }),
  )
})
