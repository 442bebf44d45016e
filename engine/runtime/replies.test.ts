import { expect, test } from 'vitest'
import { LIMITS } from '../limits.ts'
import { Fault } from '../ports/fault.ts'
import { Replies } from './replies.ts'
import type { Reply } from './shard/protocol.ts'

const refusal = (requestId: string): Reply => ({ requestId, kind: 'refused', code: 'NOT_FOUND', detail: {} })

test('a reply reaches the caller that waits for it, and nobody else', async () => {
  const replies = new Replies(() => 0)
  const [a, b] = [replies.await('a'), replies.await('b')]
  for (const id of ['b', 'earlier run', 'a', 'a']) replies.settle(refusal(id))
  expect([(await a).requestId, (await b).requestId]).toEqual(['a', 'b'])
})

test('a caller that has waited too long is told that the outcome is unknown', async () => {
  let ticks = 0
  const replies = new Replies(() => ticks)
  const first = replies.await('first').catch((fault: Fault) => fault.code)
  ticks = 9_000
  const second = replies.await('second')
  ticks = 10_000
  replies.expire()
  expect(await first).toBe('OVERLOADED')
  replies.settle(refusal('second'))
  expect((await second).requestId).toBe('second')
})

test('the number of waiting callers is limited, and expired ones make room', () => {
  const replies = new Replies(() => 0)
  for (let i = 0; i < LIMITS.repliesWaitingMax; i++) void replies.await(`r${i}`)
  expect(() => replies.await('one more')).toThrow('too many requests')
  replies.forget('r0')
  void replies.await('one more')
})

test('closing ends every wait', async () => {
  const replies = new Replies(() => 0)
  const told = replies.await('a').catch((fault: Fault) => fault.code)
  replies.fail(new Fault('SHARD_LOST', { retryable: true }))
  expect(await told).toBe('SHARD_LOST')
})
