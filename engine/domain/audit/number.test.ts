import { expect, test } from 'vitest'
import { Partition } from '../../../schemas/ids.ts'
import { numberOfPlace, numberOfWriter } from './number.ts'

const SEQ = 2 ** 40 + 5

test('no writer and no place has the number of another one, and all numbers are exact', () => {
  const numbers = [0, 1, 2 ** 20 - 1].flatMap((writer) =>
    [0, 1, 2 ** 32 - 1].map((count) => numberOfWriter(writer, count)),
  )
  for (const partition of [0, 63])
    for (const seq of [0, 1, SEQ])
      for (const index of [0, 65_535])
        numbers.push(numberOfPlace({ partition: Partition(partition), seq, index }))
  expect(new Set(numbers).size).toBe(numbers.length)
  expect(numbers.every(Number.isSafeInteger)).toBe(true)
})
