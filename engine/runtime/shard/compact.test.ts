import { expect, test } from 'vitest'
import { Compactor } from './compact.ts'
import { deviceOf } from './testing/items.ts'

test('a new record has the same shape as a compacted one, so that all records of a fleet share one shape', () => {
  const device = deviceOf('a')
  expect(Object.keys(device)).toEqual(Object.keys(new Compactor().compact(device)))
})
