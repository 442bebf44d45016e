import { expect, test } from 'vitest'
import { parseIncoming, topicOfLarge } from './incoming.ts'

test.each([
  [
    { op: 'publish', topic: '/a', msg: { data: 1 } },
    { kind: 'message', topic: '/a', message: { data: 1 } },
  ],
  [
    { op: 'service_response', id: 'i', values: { a: 1 }, result: false },
    { kind: 'answer', id: 'i', isOk: false, values: { a: 1 } },
  ],
  [
    { op: 'action_feedback', id: 'i', values: 3 },
    { kind: 'feedback', id: 'i', values: 3 },
  ],
  [
    { op: 'action_result', id: 'i', values: {}, status: 5, result: true },
    { kind: 'result', id: 'i', status: 5, isOk: true, values: {} },
  ],
  [
    { op: 'status', level: 'error', msg: 'no' },
    { kind: 'status', level: 'error', text: 'no', id: undefined },
  ],
  [{ op: 'publish', topic: '/a', msg: 'no object' }, { kind: 'other' }],
  [{ op: 'service_response' }, { kind: 'other' }],
  [{}, { kind: 'other' }],
])('%j', (frame, expected) => {
  expect(parseIncoming(JSON.stringify(frame))).toEqual(expected)
})

test('NaN and Infinity, as Python writes them, become null', () => {
  const text =
    '{"op":"publish","topic":"/a","msg":{"x":NaN,"y":[-Infinity,Infinity,1],"text":"NaN, \\"Infinity"}}'
  expect(parseIncoming(text)).toMatchObject({
    message: { x: null, y: [null, null, 1], text: 'NaN, "Infinity' },
  })
})

test('a text that is not a JSON object is undefined', () => {
  expect(['', '[]', '"x"', '{', 'null'].map(parseIncoming)).toEqual(Array(5).fill(undefined))
})

test('the topic of a large frame is found at the beginning or the end', () => {
  const data = 'A'.repeat(100_000)
  const frame = (text: string) => topicOfLarge(Buffer.from(text))
  expect(frame(`{"op":"publish","topic":"/image","msg":{"data":"${data}"}}`)).toBe('/image')
  expect(frame(`{"msg":{"data":"${data}"},"op":"publish","topic": "/image"}`)).toBe('/image')
  expect(frame(`{"data":"${data}","topic":"/image","more":"${data}"}`)).toBeUndefined()
})
