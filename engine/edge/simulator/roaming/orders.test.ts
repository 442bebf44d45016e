import { expect, test } from 'vitest'
import type { JsonObject } from '../../../../schemas/json.ts'
import { type Body, createBody } from './motion.ts'
import { Orders } from './orders.ts'
import { seeded } from './random.ts'

const TIME = '2026-01-01T00:00:00.000Z'
const body: Body = createBody(seeded(1))
const sent = (requestId: string, command: string, data: JsonObject = {}): JsonObject => {
  return { request_id: requestId, command, data, timeout_ms: 5_000 }
}

test('a ping is completed at once', () => {
  const { acks } = new Orders().take(body, sent('cmd_1', 'ping'), TIME)
  expect(acks).toEqual([
    { request_id: 'cmd_1', status: 'completed', result: { pong: true }, executed_at: TIME },
  ])
})

test('an unknown command fails with a list of the known ones', () => {
  const taken = new Orders().take(body, sent('cmd_1', 'dance'), TIME)
  expect(taken.body).toBe(body)
  expect(taken.acks).toMatchObject([{ status: 'failed', error: { code: 'UNKNOWN_COMMAND' } }])
})

test('a journey is acknowledged when it starts and completed on arrival', () => {
  const orders = new Orders()
  const taken = orders.take(body, sent('cmd_1', 'move_to', { x: 3, y: 4 }), TIME)
  expect(taken.body.target).toEqual({ x: 3, y: 4 })
  expect(taken.acks).toMatchObject([{ request_id: 'cmd_1', status: 'acked' }])
  expect(orders.finish({ ...taken.body, position: { x: -9, y: 0 } }, TIME)).toEqual([])
  const there = { ...taken.body, position: { x: 3, y: 4.2 } }
  expect(orders.finish(there, TIME)).toMatchObject([{ status: 'completed', result: { x: 3, y: 4.2 } }])
  expect(orders.finish(there, TIME)).toEqual([])
})

test('a journey fails when the device is stopped or sent elsewhere', () => {
  const orders = new Orders()
  const first = orders.take(body, sent('cmd_1', 'move_to', { x: 30, y: 30 }), TIME)
  const second = orders.take(first.body, sent('cmd_2', 'move_to', { x: -30, y: 30 }), TIME)
  expect(second.acks).toMatchObject([
    { request_id: 'cmd_1', status: 'failed', error: { code: 'INTERRUPTED' } },
    { request_id: 'cmd_2', status: 'acked' },
  ])
  const stopped = orders.take(second.body, sent('cmd_3', 'stop'), TIME)
  expect(stopped.body.mode).toBe('stopped')
  expect(orders.finish(stopped.body, TIME)).toMatchObject([{ request_id: 'cmd_2', status: 'failed' }])
})

test('a cancelled journey ends without an ack', () => {
  const orders = new Orders()
  const { body: going } = orders.take(body, sent('cmd_1', 'move_to', { x: 30, y: 30 }), TIME)
  const cancelled = orders.take(going, sent('cmd_2', '$cancel', { request_id: 'cmd_1' }), TIME)
  expect(cancelled.acks).toEqual([])
  expect(cancelled.body.target).toBe(undefined)
  expect(orders.finish(cancelled.body, TIME)).toEqual([])
})

test('a command that is delivered twice is answered twice and carried out once', () => {
  const orders = new Orders()
  const first = orders.take(body, sent('cmd_1', 'stop'), TIME)
  const resumed = orders.take(first.body, sent('cmd_2', 'resume'), TIME)
  const again = orders.take(resumed.body, sent('cmd_1', 'stop'), '2026-01-01T00:00:09.000Z')
  expect(again.acks).toEqual(first.acks)
  expect(again.body.mode).toBe('driving')
})

test('a message that is not a command is ignored', () => {
  expect(new Orders().take(body, { command: 'stop' }, TIME)).toEqual({ body, acks: [] })
})
