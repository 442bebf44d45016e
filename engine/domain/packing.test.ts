import { expect, test } from 'vitest'
import { newPackr } from './packing.ts'

test.each([
  [{ constructor: 'x', toJSON: 1 }],
  [{ toJSON: { toJSON: 'x' } }],
  [{ constructor: { name: 'Date' }, valueOf: 1 }],
  [[{ constructor: null }]],
])('%j comes back as it was, whatever its fields are called', (data) => {
  const packr = newPackr()
  expect(packr.unpack(packr.pack(data))).toEqual(data)
})
