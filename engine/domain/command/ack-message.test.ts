import { expect, test } from 'vitest'
import { LIMITS } from '../../limits.ts'
import { commandIdsIn, readAck } from './ack-message.ts'

const read = (value: unknown) =>
  readAck(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)))

test('an answer is read with all its fields', () => {
  const ack = { request_id: 'cmd_1', status: 'failed', progress: 140, error: { code: 7, message: 'stuck' } }
  expect(read({ ...ack, executed_at: 1_770_000_000_000, result: [1] })).toEqual({
    kind: 'ack',
    requestId: 'cmd_1',
    cause: 'fail',
    progress: 100,
    executedAt: 1_770_000_000_000,
    result: [1],
    resultBytesOmitted: undefined,
    error: { code: '7', message: 'stuck' },
  })
})

test.each([
  ['acked', 'accept'],
  ['accepted', 'accept'],
  ['in_progress', 'accept'],
  ['completed', 'complete'],
  ['rejected', 'reject'],
])('%s means %s', (status, cause) => {
  expect(read({ request_id: 'a', status })).toMatchObject({ kind: 'ack', cause })
})

test.each([
  ['{"request_id":', 'not_json'],
  ['', 'not_json'],
  ['[]', 'not_an_ack'],
  ['{"status":"completed"}', 'not_an_ack'],
  [`{"request_id":"${'x'.repeat(129)}","status":"completed"}`, 'not_an_ack'],
  ['{"request_id":"a","status":"constructor"}', 'not_an_ack'],
  ['{"request_id":"a","status":"done"}', 'not_an_ack'],
])('%s is refused', (text, reason) => {
  expect(read(text)).toMatchObject({ kind: 'refused', reason })
})

test('a result over the limit is left out, but the answer counts', () => {
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
  const large = JSON.stringify('x'.repeat(LIMITS.commandResultBytesMax))
  for (const result of [deep, large])
    expect(read(`{"request_id":"a","status":"completed","result":${result}}`)).toMatchObject({
      cause: 'complete',
      result: undefined,
      resultBytesOmitted: expect.any(Number),
    })
})

test.each(['yesterday', '2026-02-30T00:00:00Z', 1e300, -1, null, {}])(
  'a time like %s is left out, and the answer counts',
  (executed_at) => {
    expect(read({ request_id: 'a', status: 'completed', executed_at })).toMatchObject({
      executedAt: undefined,
    })
  },
)

test('command ids are found in an answer that cannot be parsed', () => {
  const ids = (text: string) => [...commandIdsIn(Buffer.from(text))]
  expect(ids('{"command_id":"cmd_01a","status":"done"')).toEqual(['cmd_01a'])
  expect(ids('cmd_01a;ok;cmd_02b;cmd_01a\xff')).toEqual(['cmd_01a', 'cmd_02b'])
  expect(ids('done')).toEqual([])
})
