import { expect, test } from 'vitest'
import type { Json } from '../../../../schemas/json.ts'
import { isChanged } from './change.ts'

const MIN = new Map([
  ['pose.x', 0.5],
  ['ranges.1', 10],
])

test.each<[string, Json, Json, boolean]>([
  ['equal values', { a: [1, { b: 'c' }] }, { a: [1, { b: 'c' }] }, false],
  ['a different text', { mode: 'idle' }, { mode: 'moving' }, true],
  ['a number without a minimum change', { y: 1 }, { y: 1.001 }, true],
  ['a number below its minimum change', { pose: { x: 1 } }, { pose: { x: 1.4 } }, false],
  ['a number at its minimum change', { pose: { x: 1 } }, { pose: { x: 0.5 } }, true],
  ['a number in a list below its minimum change', { ranges: [1, 2] }, { ranges: [1, 11] }, false],
  ['a new field', {}, { a: 1 }, true],
  ['a removed field', { a: 1 }, {}, true],
  ['a field in place of another', { a: 1 }, { b: 1 }, true],
  ['a value of a different type', { a: 1 }, { a: '1' }, true],
])('comparing %s', (_, before, after, expected) => {
  expect(isChanged(before, after, MIN)).toBe(expected)
})
