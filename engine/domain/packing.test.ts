import { expect, test } from 'vitest'
import { newPackr } from './packing.ts'

test.each([
  [{ constructor: 'x', toJSON: 1 }],
  [{ toJSON: { toJSON: 'x' } }],
  [{ constructor: { name: 'Date' }, valueOf: 1 }],
  [[{ constructor: null }]],
])('%j is unpacked as it was packed, whatever its fields are called', (data) => {
  const packr = newPackr()
  expect(packr.unpack(packr.pack(data))).toEqual(data)
})
