import { expect, test } from 'vitest'
import { readReported } from './reported-message.ts'

const read = (text: string) => readReported(Buffer.from(text))
const plain = { expectedVersion: undefined, clientToken: undefined }

test('a plain object is the reported fields', () => {
  expect(read('{"a":1,"b":null}')).toEqual({ kind: 'reported', patch: { a: 1, b: null }, ...plain })
})

test('an envelope carries a version and a token', () => {
  expect(read('{"state":{"a":1},"version":7,"client_token":"t"}')).toEqual({
    kind: 'reported',
    patch: { a: 1 },
    expectedVersion: 7,
    clientToken: 't',
  })
  expect(read('{"state":{"a":1}}')).toEqual({ kind: 'reported', patch: { a: 1 }, ...plain })
})

test.each(['{"state":"idle","version":"1.2"}', '{"state":{"a":1},"battery":3}', '{"version":3}'])(
  '%s is plain fields, one of which is called like a part of the envelope',
  (text) => {
    expect(read(text)).toEqual({ kind: 'reported', patch: JSON.parse(text), ...plain })
  },
)

test('an empty payload clears the retained message and reports nothing', () => {
  expect(readReported(new Uint8Array(0))).toEqual({ kind: 'cleared' })
})

test.each([
  ['{"a":', 'BAD_REQUEST'],
  ['[1]', 'VALIDATION_FAILED'],
  ['null', 'VALIDATION_FAILED'],
  ['{"state":{},"version":"7"}', 'VALIDATION_FAILED'],
  ['{"state":{},"version":1.5}', 'VALIDATION_FAILED'],
  [`{"state":{},"client_token":"${'x'.repeat(65)}"}`, 'VALIDATION_FAILED'],
])('%s is refused', (text, code) => {
  expect(read(text)).toMatchObject({ kind: 'refused', code })
})

test('bytes that are not UTF-8 are refused', () => {
  expect(readReported(Buffer.from([0x22, 0xff, 0x22]))).toMatchObject({ code: 'BAD_REQUEST' })
})
