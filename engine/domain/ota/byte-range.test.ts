import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseByteRange } from './byte-range.ts'

const WHOLE = { kind: 'whole' }
const NONE = { kind: 'unsatisfiable' }
const part = (from: number, to: number) => ({ kind: 'part', from, to })

test.each([
  [undefined, WHOLE],
  ['bytes=0-9', part(0, 10)],
  ['BYTES=5-', part(5, 100)],
  [' bytes=99-99 ', part(99, 100)],
  ['bytes=-1', part(99, 100)],
  ['bytes=-100', part(0, 100)],
  ['bytes=-1000', part(0, 100)],
  ['bytes=0-1000', part(0, 100)],
  [`bytes=0-${'9'.repeat(400)}`, part(0, 100)],
  ['bytes=100-', NONE],
  ['bytes=100-200', NONE],
  [`bytes=${'9'.repeat(400)}-`, NONE],
  ['bytes=-0', NONE],
  ['bytes=9-5', WHOLE],
  ['bytes=0-1,5-6', WHOLE],
  ['bytes=0-1,', WHOLE],
  ['bytes=-', WHOLE],
  ['bytes=', WHOLE],
  ['bytes=a-b', WHOLE],
  ['bytes=1.5-2', WHOLE],
  ['bytes=-5-', WHOLE],
  ['bytes=0x1-5', WHOLE],
  ['lines=0-1', WHOLE],
  ['', WHOLE],
])('of 100 bytes, %j is %j', (header, range) => {
  expect(parseByteRange(header, 100)).toEqual(range)
})

test('an empty image has no part', () => {
  expect(parseByteRange('bytes=0-0', 0)).toEqual(NONE)
  expect(parseByteRange('bytes=-5', 0)).toEqual(NONE)
})

test('whatever the header, a part lies within the image and is not empty', () => {
  const header = fc.oneof(
    fc.string(),
    fc.tuple(fc.bigInt(-5n, 10n ** 30n), fc.bigInt(-5n, 10n ** 30n)).map(([a, b]) => `bytes=${a}-${b}`),
    fc.tuple(fc.nat(2_000), fc.nat(2_000)).map(([a, b]) => `bytes=${a}-${b}`),
  )
  fc.assert(
    fc.property(header, fc.nat(1_000), (text, size) => {
      const range = parseByteRange(text, size)
      return range.kind !== 'part' || (range.from >= 0 && range.from < range.to && range.to <= size)
    }),
  )
})
