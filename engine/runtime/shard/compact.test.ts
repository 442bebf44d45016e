import { expect, test } from 'vitest'
import { Compactor } from './compact.ts'
import { deviceOf } from './testing/items.ts'

test('a new record has the shape that it has once it is compact, so that a fleet has one shape', () => {
  const device = deviceOf('a')
  expect(Object.keys(device)).toEqual(Object.keys(new Compactor().compact(device)))
})
