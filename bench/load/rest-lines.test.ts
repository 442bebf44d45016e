import { expect, test } from 'vitest'
import { parseReply } from './rest-lines.ts'

test('a reply is read once it is complete', () => {
  const bytes = Buffer.from('HTTP/1.1 202 Accepted\r\nContent-Length: 7\r\n\r\n{"a":1}')
  for (let length = 0; length < bytes.length; length++)
    expect(parseReply(bytes.subarray(0, length))).toBeUndefined()
  expect(parseReply(bytes)).toEqual({ status: 202, text: '{"a":1}' })
})

test('a reply without a length is an error', () => {
  expect(() => parseReply(Buffer.from('HTTP/1.1 200 OK\r\n\r\n'))).toThrow('without a length')
})
